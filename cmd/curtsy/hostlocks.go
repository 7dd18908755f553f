package main

import (
	"fmt"

	"curtsy/crawler/hostlock"
)

// openHostLocks opens the locks that all crawls of this user share, so that no two of them ask a host at once
// (politeness rule 17). There is no switch for them.
func openHostLocks(say func(string, ...any)) (*hostlock.Locks, error) {
	path, err := hostlock.Path()
	var locks *hostlock.Locks
	if err == nil {
		locks, err = hostlock.Open(path)
	}
	if err != nil {
		return nil, fmt.Errorf("%w\nYour crawls must know of each other, so that no two of them ask a host at once: make the folder writable, or set HOME, XDG_CACHE_HOME (Linux) or LocalAppData (Windows) to one that is", err)
	}
	if why := locks.Missing(); why != "" {
		say("%s: do not run two crawls of the same hosts at once", why)
	}
	return locks, nil
}
