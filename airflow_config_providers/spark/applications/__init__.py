"""Programs that give the code of a job values which no command shows, and then run it."""
