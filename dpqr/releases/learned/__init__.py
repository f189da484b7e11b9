"""Labels, bounds and the rows of each person that a release learns first, for a part of its budget."""
