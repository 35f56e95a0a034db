"""Prints the accuracy of each run in a folder of logs: `load_df.py LOGS samples|evals`.

samples: from the rows of all samples, read in parallel. evals: what the headers of the logs say.
"""

import sys

from inspect_ai.analysis import EvalInfo, SampleSummary, evals_df, samples_df


def main() -> None:
    """Read the logs as a data frame."""
    logs, what = sys.argv[1:]
    if what == "evals":
        frame = evals_df(logs)
        print(frame[[name for name in frame.columns if name.startswith("score_")]])
        return
    frame = samples_df(logs, columns=[*EvalInfo, *SampleSummary], parallel=True)
    score = next(name for name in frame.columns if name.startswith("score_"))
    print(frame.assign(is_right=frame[score].eq("C")).groupby("eval_id")["is_right"].mean())


if __name__ == "__main__":
    main()
