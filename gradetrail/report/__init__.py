"""Pages and pictures made from views; no arithmetic here."""
