package frontier

import (
	"errors"
	"fmt"
	"time"

	"curtsy/frontier/canon"
)

// Act is what an operator commands. The numbers are stable on disk.
type Act uint8

// The acts.
const (
	// Park gives the host no turn until Resume, or until Steering.For is over. Its URLs stay pending, and it keeps
	// taking new ones. A host that is not known is known from then on, and so with Drop.
	Park Act = 1

	// Drop closes the pending URLs of the host as Dropped with ReasonOperator, gives it no turn, and treats those found
	// later as refused for that reason, until Resume. With Steering.URLs it closes these alone, and later ones are accepted as before.
	Drop Act = 2

	// Resume ends a Park or a Drop and opens a host that is Retired or Refused. The wait that the host is owed is not
	// shortened, and what was dropped stays closed until Retry.
	Resume Act = 3

	// Rest has the host wait for Steering.For at least, as Result.Wait does: it is owed that, and no turn has told of it. It is
	// no hold, and takes the place of none. A host that is not known is known from then on.
	Rest Act = 4
)

// Steering is an operator's command.
type Steering struct {
	Act       Act
	Authority canon.Authority // the host, known or not
	URLs      []canon.URL     // with Drop: these of the host, and no others
	For       time.Duration   // with Park and Rest: how long; zero means until Resume, and nothing with Rest
	Reason    string          // with Park and Drop of a host: kept in Hold.Reason, for people
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

// Steered says what a Steering did.
type Steered struct {
	Changed bool  // the host was not as commanded before, or waits longer now; false with Steering.URLs
	URLs    int64 // closed at once; those under a lease are closed when it ends, unless its holder has closed them: Finished.Dropped
}

// Closings are what a commit closes with ReasonOperator, but for what the answer to a Finish or an Add names.
type Closings struct {
	// URLs are those that a Drop named, and those that were under a lease at a Drop of theirs or of their host, when that
	// has expired or the frontier has stopped. They are as they were accepted.
	URLs []Candidate

	Hosts map[canon.Authority]int64 // how many others, of hosts that were dropped
}

// Hold is what an operator commanded about a host, and what holds. The zero value is nothing. It outlives restarts and
// is not touched by what turns say of the host.
type Hold struct {
	Act    Act // Park, Drop, or zero
	Reason string
	Wait   time.Duration // with Park: until it ends by itself, as of the answer; Never without an end
}

// Survey is what stands out among all hosts. The hosts in it come without Robots and Memory.
type Survey struct {
	// Longest are the hosts with the most pending URLs, most first.
	Longest []Host

	// Shut are the hosts with something pending that are Parked, Retired or Refused, or held by an operator; most
	// pending first.
	Shut []Host

	// Why counts all hosts that are not Open by condition and reason, Holds those that an operator holds by act, whatever
	// their condition.
	Why   map[Condition]map[string]int64
	Holds map[Act]int64
}

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
