package force_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// kinds are what may happen to a write, sync or truncation. See testdata/hook.go.txt.
func kinds() []string {
	return []string{
		"abort", "full", "abort-half", "broken", "abort-head", "short", "full-half", "short-head", "broken-after", "abort-after",
	}
}

// verdict is what the script came to.
type verdict struct {
	*model
	refused, ended, poisoned string
	armed                    bool
}

func (v *verdict) hear(e event) {
	v.model.hear(e)
	switch e.Kind {
	case armed:
		v.armed = true
	case refused:
		v.refused = e.Text
	case done:
		v.ended = done
	case poisoned, unpoisoned:
		v.poisoned = e.Kind
		if e.Kind == unpoisoned {
			v.fault("after the error %q a call was answered with another: %s", v.refused, e.Text)
		}
	}
}

// judge checks the file, and that the error says what happened where and what to do. It returns false when the script came
// to its end.
func (v *verdict) judge(t *testing.T, file string, aborts bool) bool {
	t.Helper()
	if v.ended != done && v.refused == "" && !aborts {
		t.Fatal("the child ended without a word")
	}
	if v.refused != "" {
		if aborts {
			t.Fatalf("the process was to be aborted, and reports %q", v.refused)
		}
		if !strings.Contains(v.refused, file) || !strings.Contains(v.refused, adviceMark) {
			t.Errorf("the error names no file or does not say what to do: %q", v.refused)
		}
	}
	v.compare(t, file, now())
	if len(v.faults) > 0 {
		t.Fatalf("after %q: %q", v.refused, v.faults)
	}
	return v.ended != done
}

// adviceMark stands in every error of a write: the rest depends on the cause.
const adviceMark = "then continue: acknowledged work is in the file"

// Every write, sync and truncation of a handful of commits meets every kind of fault.
func TestFault_AtEveryWriteOfACommitLosesNothingAcknowledged(t *testing.T) {
	binary := hookedBinary(t)
	all, runs, refusals, aborted, most := tally{}, 0, 0, 0, 0
	for i, kind := range kinds() {
		step, first := 1, 1
		if !long() { // each kind at some of the places, and each place of one kind
			step, first = len(kinds()), 1+i
		}
		for n := first; ; n += step {
			file := filepath.Join(t.TempDir(), "frontier.db")
			v := &verdict{model: newModel()}
			p := start(t, binary, "script", file, 1, v.hear, fmt.Sprintf("%s=%s:%d", armKey, kind, n))
			p.wait()
			if p.errors.Len() > 0 || !v.armed {
				t.Fatalf("%s at %d: %s", kind, n, p.errors.String())
			}
			runs++
			if v.refused != "" {
				refusals++
			}
			more := v.judge(t, file, strings.HasPrefix(kind, "abort"))
			all.add(v.tally)
			if !more {
				break
			}
			if v.refused == "" {
				aborted++
			}
			most = max(most, n)
		}
	}
	t.Logf("fault: %d runs, of up to %d writes, syncs and truncations: %d refused with an error, %d aborted; %d calls acknowledged; "+
		"lost %d, resurrected %d, repeated %d of %d in flight",
		runs, most, refusals, aborted, all.acknowledged, all.lost, all.resurrected, all.repeated, all.inFlight)
	if refusals == 0 || aborted == 0 || most < 20 {
		t.Error("so little was hit that it proves nothing")
	}
}

// A fault while the file is made, or opened, leaves nothing that a later opening could mistake.
func TestFault_WhileTheFileIsMadeOrOpened(t *testing.T) {
	binary := hookedBinary(t)
	runs := 0
	for i, kind := range kinds() {
		step, first := 1, 1
		if !long() {
			step, first = len(kinds()), 1+i
		}
		for n := first; ; n += step {
			file := filepath.Join(t.TempDir(), "frontier.db")
			v := &verdict{model: newModel()}
			p := start(t, binary, "script", file, 1, v.hear, fmt.Sprintf("%s=%s:%d", faultKey, kind, n))
			p.wait()
			runs++
			if v.armed {
				break // the fault lies beyond
			}
			if v.openedAt != 0 {
				v.judge(t, file, strings.HasPrefix(kind, "abort"))
				continue
			}
			again := &verdict{model: newModel()} // the next start has no fault, and makes the file
			p = start(t, "", "script", file, 1, again.hear)
			p.wait()
			if again.judge(t, file, false) {
				t.Fatalf("%s at %d while the file was made: the next start says %q", kind, n, again.refused)
			}
		}
	}
	t.Logf("fault while opening: %d runs", runs)
}

func (n *tally) add(o tally) {
	n.cycles += o.cycles
	n.acknowledged += o.acknowledged
	n.inFlight += o.inFlight
	n.repeated += o.repeated
	n.lost += o.lost
	n.resurrected += o.resurrected
}
