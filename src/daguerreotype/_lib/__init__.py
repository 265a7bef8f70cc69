"""Private machinery that is nobody's concept; each file is named by its purpose."""
