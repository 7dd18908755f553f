package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"curtsy/crawler/control"
	"curtsy/crawler/crawldir"
	"curtsy/frontier"
	"curtsy/frontier/engine"
)

// FrontierFile has do look at a file with the frontier of the crawl in dir: its own when it is stopped, a snapshot that
// the running crawl writes and that is removed afterwards.
func FrontierFile(ctx context.Context, dir string, do func(ctx context.Context, path string) error) error {
	if err := crawldir.Require(dir); err != nil {
		return err
	}
	remote, asked := control.Connect(ctx, dir)
	if asked != nil {
		return do(ctx, filepath.Join(dir, crawldir.FrontierName))
	}
	if locator := engine.Locator(dir); locator != "" { // anybody may read the server
		return do(ctx, locator)
	}
	return UntilSignal(ctx, func(ctx context.Context) error { // what is as large as the frontier is not left behind
		path, err := remote.Snapshot(ctx)
		if err != nil {
			return fmt.Errorf("the running crawl could not write a snapshot: %w", err)
		}
		return errors.Join(do(ctx, path), os.Remove(path))
	})
}

// Reading has do read the frontier of the crawl in dir, running or not.
func Reading(ctx context.Context, dir string, do func(ctx context.Context, f frontier.Stored) error) error {
	return FrontierFile(ctx, dir, func(ctx context.Context, path string) error {
		f, err := engine.OpenReadOnly(path)
		if err != nil {
			return InUse(err, dir)
		}
		return Damaged(errors.Join(do(ctx, f), f.Close()), dir)
	})
}

// WhileStopped has do work on a crawl that does not run, and does not begin to until do is done.
func WhileStopped(ctx context.Context, dir string, do func(f frontier.Stored) error) error {
	_, asked := control.Connect(ctx, dir)
	f, err := engine.OpenReadOnly(dir)
	if asked == nil || errors.Is(err, frontier.ErrInUse) {
		if err == nil {
			err = f.Close() // it ended in between; the user is told the same, and the next try works
		}
		return errors.Join(fmt.Errorf("the crawl in %s is running, and its archive must not change meanwhile: interrupt it (Ctrl-C, or a SIGTERM: it finishes its requests), or wait for its end, and run the command again", dir),
			notInUse(err))
	}
	if err != nil {
		return Damaged(err, dir)
	}
	return errors.Join(do(f), f.Close())
}

func notInUse(err error) error {
	if errors.Is(err, frontier.ErrInUse) {
		return nil
	}
	return err
}
