// A library of the right name that is no driver: nothing in it.
