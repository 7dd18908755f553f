package crawldir

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"curtsy/frontier"
)

// Two that make the same directory at once: one has it, the other is told, and nothing of the loser is left.
func TestOfTwoCrawlsThatMakeOneDirectoryOneHasIt(t *testing.T) {
	c, err := Seed("http://127.0.0.1:9/", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, exists := range []bool{false, true} {
		parent := t.TempDir()
		dir := filepath.Join(parent, "d")
		if exists {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				errs <- lay(context.Background(), dir, func(tmp string) error {
					return fill(context.Background(), tmp, "", []byte("# settings\n"), Given([]frontier.Candidate{c}))
				})
			}()
		}
		first, second := <-errs, <-errs
		if (first == nil) == (second == nil) {
			t.Errorf("exists %v: %v and %v", exists, first, second)
		}
		if left, err := os.ReadDir(parent); err != nil || len(left) != 1 {
			t.Errorf("exists %v: beside it: %v %v", exists, left, err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 5 {
			t.Errorf("exists %v: it holds %v %v", exists, left, err)
		}
	}
}
