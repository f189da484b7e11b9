"""Pages: a release, a plan or an evaluation as one HTML file without script or network."""
