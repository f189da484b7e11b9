"""Files and the nouns that they hold: documents, private tables, releases."""
