package force_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"

	"curtsy/frontier"
)

// The kinds of events. What has an effect on disk is told before the call, with a number; acknowledged says that what has
// these numbers is durable.
const (
	opened       = "opened" // From, To: around the call
	adding       = "adding" // Found
	claimed      = "claimed"
	finishing    = "finishing"
	retrying     = "retrying" // Host
	steering     = "steering"
	applied      = "applied" // To: when the call with that number returned
	acknowledged = "acknowledged"
	armed        = "armed"    // from here on faults are injected
	refused      = "refused"  // Text: a call returned this error
	poisoned     = "poisoned" // every later call returned it too
	unpoisoned   = "unpoisoned"
	done         = "done" // Close returned nil
)

// event is what a child tells. Times are those of the wall clock, which both processes share, in nanoseconds.
type event struct {
	Kind     string
	ID       int           `json:",omitempty"`
	IDs      []int         `json:",omitempty"`
	From, To int64         `json:",omitempty"`
	Host     string        `json:",omitempty"`
	Tasks    []task        `json:",omitempty"` // claimed, or settled by finishing
	Found    []string      `json:",omitempty"`
	Exchange bool          `json:",omitempty"` // the turn starts the pace
	Wait     time.Duration `json:",omitempty"` // of a park
	Reason   string        `json:",omitempty"` // of a park
	Act      frontier.Act  `json:",omitempty"`
	Text     string        `json:",omitempty"`
}

// task is a URL of a turn. When it is settled, Outcome is zero for a deferral.
type task struct {
	URL      string
	Attempts int              `json:",omitempty"`
	Outcome  frontier.Outcome `json:",omitempty"`
	After    time.Duration    `json:",omitempty"`
}

// teller writes events, one a line.
type teller struct {
	mu   sync.Mutex
	out  io.Writer
	last int
}

// tell writes e, with a number of its own, which it returns.
func (t *teller) tell(e event) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	e.ID = t.last
	t.write(e)
	return e.ID
}

// about writes e, which is about what was told before.
func (t *teller) about(e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write(e)
}

func (t *teller) write(e event) {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	if _, err := t.out.Write(append(b, '\n')); err != nil {
		panic(err) // the parent is gone
	}
}

// listen calls hear for each event that was written whole: the last may be cut off.
func listen(r io.Reader, hear func(event)) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return err
		}
		hear(e)
	}
}

func now() int64 { return time.Now().UnixNano() }
