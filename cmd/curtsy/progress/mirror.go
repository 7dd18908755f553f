package progress

import (
	"context"
	"fmt"
	"sync"
	"time"

	"curtsy/cmd/curtsy/text"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

// WhileMirrored shows how far a mirror is, until do returns.
func (v *Display) WhileMirrored(ctx context.Context, p *mirror.Progress, do func() error) error {
	if v.Quiet {
		return do()
	}
	over, end := context.WithCancel(ctx)
	var beside sync.WaitGroup
	beside.Go(func() { v.followMirror(over, p) })
	defer func() {
		end()
		beside.Wait()
		v.Finish()
	}()
	return do()
}

// followMirror shows a line until ctx ends, as often as one of a crawl.
func (v *Display) followMirror(ctx context.Context, p *mirror.Progress) {
	every := plainEvery / 5 // of something that takes seconds to minutes
	if v.Live {
		every = liveEvery
	}
	looks := time.NewTicker(every)
	defer looks.Stop()
	for began := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-looks.C:
			v.Show(text.Clock(time.Since(began)) + " " + mirrorLine(p))
		}
	}
}

// mirrorLine is how far a mirror is.
func mirrorLine(p *mirror.Progress) string {
	if total := p.Total.Load(); total > 0 {
		return fmt.Sprintf("mirror  %d of %s written", p.Written.Load(), plainly.Count(total, "URL"))
	}
	return fmt.Sprintf("mirror  %s read from the archive", plainly.Count(p.Read.Load(), "URL"))
}
