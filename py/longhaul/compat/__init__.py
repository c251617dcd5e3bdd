"""The forms of other packages."""
