// Gives the precompiled header a target.
