package crawlcmd

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/storage/plainly"
)

// Begun is the directory with the crawl that these very seeds began, where the one that the user named, or the default one
// of today, is there; empty where it is not. A crawl that other seeds began is refused. Seeds of a list are not compared,
// for it may be endless.
func (t *Task) Begun(ctx context.Context, seeds []string) (dir string, err error) {
	want := map[string]bool{}
	dir = t.options.dir
	for _, s := range seeds {
		seed, err := crawldir.Seed(s, "")
		if err != nil {
			return "", nil // the crawl says what is wrong with it
		}
		want[seed.URL.String()] = true
		if dir == "" {
			dir = defaultDir([]frontier.Candidate{seed}, time.Now())
		}
	}
	if t.options.seeds != "" || len(want) == 0 {
		return "", nil
	}
	if _, err := os.Stat(filepath.Join(dir, crawldir.FrontierName)); err != nil {
		return "", nil // the crawl says what else stands there
	}
	have, err := begunAt(ctx, dir, len(want)+1)
	if err != nil {
		return "", err
	}
	for s := range have {
		if !want[s] || len(have) != len(want) {
			return "", cli.Usagef("%s has a crawl of other pages, from seeds such as %s: check it again with curtsy linkcheck %s, or name another directory with --dir",
				dir, plainly.OneLine(s), plainly.Argument(dir))
		}
	}
	return dir, nil
}

// begunAt are the seeds of a crawl, at most so many.
func begunAt(ctx context.Context, dir string, most int) (seeds map[string]bool, err error) {
	seeds = map[string]bool{}
	err = cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) error {
		for s, err := range f.AllSeeds(ctx) {
			if err != nil {
				return err
			}
			if s.From == "" {
				seeds[s.URL.String()] = true
			}
			if len(seeds) == most {
				return nil
			}
		}
		return nil
	})
	return seeds, err
}

// Left is how many URLs a crawl has not come to.
func Left(ctx context.Context, dir string) (left int64, err error) {
	err = cli.Reading(ctx, dir, func(ctx context.Context, f frontier.Stored) error {
		st, err := f.Stats(ctx)
		left = st.Queued + st.InFlight + st.Deferred
		return err
	})
	return left, err
}
