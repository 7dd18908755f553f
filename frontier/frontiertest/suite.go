package frontiertest

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// Run holds an engine to the contract of package frontier: one sub-test per rule, each in a directory and a
// synctest bubble of its own.
func Run(t *testing.T, h Harness) {
	lacking := map[string][]rule{}
	for _, r := range slices.Concat(scripted(), acceptRules, orderRules, leaseRules, hostRules, stopRules, suspectRules, operatorRules) {
		if i := slices.IndexFunc(h.Lacks, func(name string) bool { return strings.HasPrefix(r.Name, name) }); i >= 0 {
			lacking[h.Lacks[i]] = append(lacking[h.Lacks[i]], r)
			continue
		}
		t.Run(r.Name, func(t *testing.T) {
			if r.Crash && h.Crash == nil {
				t.Skip("the engine cannot be crashed")
			}
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) { r.Test(NewStage(t, h, dir, r.Options)) })
		})
	}
	for _, name := range h.Lacks {
		t.Run("lacking "+name, func(t *testing.T) {
			for _, r := range lacking[name] {
				dir := t.TempDir()
				failed := false
				synctest.Test(t, func(t *testing.T) {
					failed = fails(t, func(t testing.TB) { r.Test(NewStage(t, h, dir, r.Options)) })
				})
				if failed {
					return
				}
			}
			t.Errorf("listed as lacking, but all of %d rules pass", len(lacking[name]))
		})
	}
}
