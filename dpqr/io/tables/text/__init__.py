"""Text tables (CSV): rows of text become columns of text, and these become codes."""
