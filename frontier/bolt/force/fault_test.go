package force_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kinds are the faults of a write, sync or truncation. See testdata/hook.go.txt.
func kinds() []string {
	return []string{
		"abort", "full", "abort-half", "broken", "abort-head", "short", "full-half", "short-head", "broken-after", "abort-after",
	}
}

// judge checks the file of a child, and that the error has the place and advice.
func (p *process) judge(t *testing.T, file string, list []commit, urls []string, aborts bool) {
	t.Helper()
	switch {
	case aborts && p.refused != "":
		t.Fatalf("the process reports %q instead of aborting", p.refused)
	case !aborts && !p.done && p.refused == "":
		t.Fatal("the child ended without a report")
	case p.refused != "" && (!strings.Contains(p.refused, file) || !strings.Contains(p.refused, adviceMark)):
		t.Errorf("the error lacks the file or the advice: %q", p.refused)
	case p.unpoisoned != "":
		t.Errorf("after the error %q a call returned a different result: %s", p.refused, p.unpoisoned)
	}
	clean(t, file)
	s, n := look(t, file, urls), p.steps
	was := list[0].was
	if n > 0 {
		was = list[n-1].is
	}
	if !s.same(was) && (n == len(list) || !s.same(list[n].is)) {
		t.Fatalf("after %d steps and %q the file holds neither the acknowledged state nor that of the next step", n, p.refused)
	}
}

// adviceMark is in every error of a write: the rest depends on the cause.
const adviceMark = "then continue: acknowledged work is in the file"

// eachFault has a child run the script with each kind of fault at each place, or at some of the places and each place
// of one kind, until it ends.
func eachFault(t *testing.T, key string, judge func(p *process, file string, aborts bool, where string)) {
	t.Helper()
	binary := hookedBinary(t)
	runs, refusals, most := 0, 0, 0
	for i, kind := range kinds() {
		step, first := 1, 1
		if !long() {
			step, first = len(kinds()), 1+i
		}
		for n := first; ; n += step {
			file := filepath.Join(t.TempDir(), "frontier.db")
			p := ran(t, binary, "script", file, fmt.Sprintf("%s=%s:%d", key, kind, n))
			require.Truef(t, p.errors.Len() == 0, "%s at %d: %s", kind, n, p.errors.String())
			runs++
			if p.refused != "" {
				refusals++
			}
			judge(p, file, !p.done && strings.HasPrefix(kind, "abort"), fmt.Sprint(kind, " at ", n))
			if p.done {
				break
			}
			most = max(most, n)
		}
	}
	t.Logf("fault: %d runs, of up to %d writes, syncs and truncations: %d refused with an error", runs, most, refusals)
	assert.True(t, refusals != 0 && runs-refusals > len(kinds()) && most >= 20, "so little was hit that it proves nothing")
}

func TestFault_LosesNothingAcknowledged(t *testing.T) {
	list, urls := commits(t)
	eachFault(t, armKey, func(p *process, file string, aborts bool, where string) {
		require.Truef(t, p.armed, "%s: the child was not armed", where)
		p.judge(t, file, list, urls, aborts)
	})
}

// A fault while the file is made, or opened, leaves nothing that a later opening could mistake.
func TestFault_WhileCreatingOrOpening(t *testing.T) {
	list, urls := commits(t)
	eachFault(t, faultKey, func(p *process, file string, aborts bool, where string) {
		if p.opened {
			p.judge(t, file, list, urls, aborts)
			return
		}
		again := ran(t, "", "script", file) // the next start has no fault, and makes the file
		if again.judge(t, file, list, urls, false); !again.done {
			t.Fatalf("%s while the file was made: the next start reports %q", where, again.refused)
		}
	})
}
