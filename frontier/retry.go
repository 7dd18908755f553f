package frontier

import (
	"errors"
	"fmt"

	"curtsy/frontier/canon"
)

// Retrial is an operator's command to try again what was closed. See Frontier.Retry.
type Retrial struct {
	// Outcome says which closed URLs are pending again: Disallowed, Failed, Gone, Dropped or Held. Zero means none, which
	// makes sense with Hosts only. What was Fetched or Redirected is not to be had this way: to look for a newer
	// version of it is another matter. A task that was Held comes with ReasonReleased, so that it is not held again.
	Outcome Outcome

	// Reason limits the command to URLs that were closed with this reason. Empty means all.
	Reason string

	// Authority limits the command to one authority, known or not. The zero one means all.
	Authority canon.Authority

	// Hosts also opens the hosts that are Refused or Retired. They are due when their wait is over, as before.
	Hosts bool

	// Robots also forgets the robots state of every host of which a URL is tried again, and of every one that is
	// opened. So its robots.txt is fetched before any page, and what has changed in it takes effect at once; without,
	// the policy that is kept would close a disallowed URL again until it has expired.
	Robots bool
}

// Check returns why an engine refuses r, or nil.
func (r Retrial) Check() error {
	switch r.Outcome {
	case Disallowed, Failed, Gone, Dropped, Held:
		return nil
	case 0:
		if r.Hosts {
			return nil
		}
		return errors.New("neither URLs nor hosts are given")
	case Fetched, Redirected:
		return fmt.Errorf("URLs that were %s are not tried again", r.Outcome)
	}
	return fmt.Errorf("no outcome %d", r.Outcome)
}

// Retried says what a Retrial did.
type Retried struct {
	URLs  int64 // pending again
	Hosts int64 // opened
}
