package crawlcmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

// newMirrorCheck lists what does not lead to a file of the copy.
func newMirrorCheck(std cli.Streams) *cobra.Command {
	var asJSON, wrong bool
	cmd := cli.Command("mirror check")
	cmd.Args = cli.OneDir
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error {
		return mirrorCheck(ctx, args[0], asJSON, wrong, std)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object per line")
	cmd.Flags().BoolVar(&wrong, "wrong", false, "list only references that should lead to a file")
	cli.Group(cmd.Flags(), "Output")
	return cmd
}

func mirrorCheck(ctx context.Context, dir string, asJSON, wrongOnly bool, std cli.Streams) error {
	tree, err := mirrorIn(dir)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(std.Out)
	all, wrong := int64(0), int64(0)
	absolute := map[string]bool{} // URLs
	for b, err := range mirror.Check(ctx, tree) {
		if err != nil {
			return errors.Join(err, out.Flush())
		}
		all++
		if b.Wrong {
			wrong++
		} else {
			if b.URL != "" && b.Reason != mirror.ByScript {
				absolute[b.URL] = true
			}
			if wrongOnly {
				continue
			}
		}
		if err := writeBroken(out, b, asJSON); err != nil {
			return err
		}
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if outside := all - wrong; outside > 0 && !wrongOnly {
		fmt.Fprintf(std.Err, "%s outside the mirror (%s)\n", plainly.Count(outside, "reference"), plainly.Count(len(absolute), "URL"))
	}
	if wrong > 0 {
		fmt.Fprintf(std.Err, "%s wrong\n", plainly.Count(wrong, "reference"))
		return cli.Silent(cli.ExitFound)
	}
	fmt.Fprintln(std.Err, "nothing wrong")
	return nil
}

// writeBroken writes a reference: FILE, what it says, and why, with tabs between.
func writeBroken(out *bufio.Writer, b mirror.Broken, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(b)
	}
	why := b.Reason.Why(b.Detail)
	if b.Wrong {
		why = "WRONG " + why
	}
	ref := b.Ref
	if b.URL != "" {
		ref = b.URL
	}
	_, err := fmt.Fprintf(out, "%s\t%s\t%s\n", plainly.OneLine(b.File), plainly.OneLine(ref), plainly.OneLine(why))
	return err
}

// mirrorIn finds the mirror of a crawl directory, or the one that dir is.
func mirrorIn(dir string) (string, error) {
	for _, tree := range []string{dir, mirror.Tree(dir)} {
		_, err := os.Stat(filepath.Join(tree, mirror.MapFile))
		if err == nil {
			return tree, nil
		}
		if errors.Is(err, syscall.ENOTDIR) {
			return "", crawldir.NotDirectory(dir)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", cli.Usagef("mirror: %w", err)
		}
	}
	if _, err := os.Stat(dir); err != nil {
		return "", cli.Usagef("mirror: %w", err)
	}
	return "", cli.Usagef("no mirror in %s; if a page is archived there, make one with curtsy mirror rebuild %s", dir, plainly.Argument(dir))
}
