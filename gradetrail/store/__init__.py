"""The warehouse on disk: the journal, Parquet files, manifests, and the only code that writes them."""

from gradetrail.store.live import Live
from gradetrail.store.store import Store
from gradetrail.store.writer import RunWriter

__all__ = ["Live", "RunWriter", "Store"]
