package frontier

import (
	"errors"
	"fmt"
	"time"

	"curtsy/frontier/canon"
)

// Act is an operator's command. The numbers are stable on disk.
type Act uint8

// The acts.
const (
	// Park gives the host no turn until Resume, or for Steering.For. Its URLs stay pending, and it accepts new ones.
	// Park and Drop make an unknown host known.
	Park Act = 1

	// Drop closes the pending URLs of the host as Dropped with ReasonOperator, gives it no turn, and refuses later ones
	// for that reason, until Resume. With Steering.URLs it only closes these, and later URLs are accepted as before.
	Drop Act = 2

	// Resume ends a Park or a Drop and opens a host that is Retired or Refused. It does not shorten the host's wait,
	// and dropped URLs stay closed until Retry.
	Resume Act = 3

	// Rest has the host wait at least for Steering.For, as Result.Wait does. It is not a hold, and replaces none. It
	// makes an unknown host known.
	Rest Act = 4
)

// Steering is an operator's command.
type Steering struct {
	Act       Act
	Authority canon.Authority // the host, known or not
	URLs      []canon.URL     // with Drop: only these, of the host
	For       time.Duration   // with Park and Rest: how long; zero means until Resume, and nothing with Rest
	Reason    string          // with Park and Drop of a host: for people, in Hold.Reason
}

// Check returns why an engine refuses s, or nil.
func (s Steering) Check() error {
	switch {
	case s.Authority.IsZero():
		return errors.New("no host is named")
	case s.Act < Park || s.Act > Rest:
		return fmt.Errorf("no act %d", s.Act)
	case len(s.URLs) > 0 && s.Act != Drop:
		return errors.New("only Drop takes URLs")
	case s.For < 0 || s.For > 0 && s.Act != Park && s.Act != Rest:
		return errors.New("only Park and Rest take a time, and none that is negative")
	}
	for _, u := range s.URLs {
		if u.IsZero() || u.Authority() != s.Authority {
			return fmt.Errorf("URL %s is not of %s", u, s.Authority)
		}
	}
	return nil
}

// Steered is the result of a Steering.
type Steered struct {
	Changed bool  // the host was not as commanded before, or waits longer; false with Steering.URLs
	URLs    int64 // closed at once; leased ones are closed when the lease ends, unless its holder closes them: Finished.Dropped
}

// Closings are the URLs that a commit closes with ReasonOperator, except those in a Finished or an Added.
type Closings struct {
	// URLs are those that a Drop named, and those that were leased at a Drop of theirs or of their host, when the lease
	// has expired or the frontier has stopped. They are as they were accepted.
	URLs []Candidate

	Hosts map[canon.Authority]int64 // number of other URLs, of dropped hosts
}

// Hold is an operator's command that is in force for a host. The zero value holds nothing. It outlives restarts, and
// turns do not change it.
type Hold struct {
	Act    Act // Park, Drop, or zero
	Reason string
	Wait   time.Duration // with Park: until it expires; Never if it does not
}

// Survey is an overview of all hosts. Its hosts lack Robots and Memory.
type Survey struct {
	// Longest are the hosts with the most pending URLs, most first.
	Longest []Host

	// Shut are the hosts with something pending that are Parked, Retired or Refused, or held by an operator; most
	// pending first.
	Shut []Host

	// Why counts all hosts that are not Open by condition and reason, Holds those that an operator holds by act,
	// whatever their condition.
	Why   map[Condition]map[string]int64
	Holds map[Act]int64
}

// Retrial is an operator's command to reopen closed URLs and hosts. See Frontier.Retry.
type Retrial struct {
	// Outcome is the outcome of the closed URLs to retry: Disallowed, Failed, Gone, Dropped or Held. Zero means none,
	// for use with Hosts. Fetched and Redirected URLs cannot be retried. A task that was Held comes with
	// ReasonReleased, so that it is not held again.
	Outcome Outcome

	// Reason limits the command to URLs that were closed with this reason. Empty means all.
	Reason string

	// Authority limits the command to one authority, known or not. The zero one means all.
	Authority canon.Authority

	// Hosts also opens the hosts that are Refused or Retired. They are due when their wait is over, as before.
	Hosts bool

	// Robots also forgets the robots state of every host with a retried URL, and of every opened host. So its
	// robots.txt is fetched before any page; otherwise the stored policy would close a disallowed URL again until it
	// expires.
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

// Retried is the result of a Retrial.
type Retried struct {
	URLs  int64 // pending again
	Hosts int64 // opened
}
