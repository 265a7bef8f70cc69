"""The command line: ``daguerreotype VERB``. One file per verb."""
