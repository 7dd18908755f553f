package crawlcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/progress"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/storage/mirror"
	"curtsy/storage/mirror/layout"
	"curtsy/storage/plainly"
)

// rebuildOptions are the flags of mirror rebuild.
type rebuildOptions struct {
	to                     string
	layout                 layout.Kind
	cut                    int64
	vanished               mirror.Vanished
	previews               bool
	maxBody                crawldir.Size
	overwrite, json, quiet bool
	given                  func(flag string) bool
}

// newRebuild makes the copy again, from the archive alone.
func newRebuild(std cli.Streams) *cobra.Command {
	o := rebuildOptions{maxBody: 1 << 30}
	cmd := cli.Command("mirror rebuild", cli.Flags{
		"output": &o.to, "layout": crawldir.Layout(&o.layout), "cut-dirs": crawldir.AtLeast(&o.cut, 0),
		"vanished": crawldir.Vanished(&o.vanished), "previews": &o.previews, "max-body": &o.maxBody, "overwrite": &o.overwrite,
		"json": &o.json, "quiet": &o.quiet,
	})
	cmd.Args = cobra.MinimumNArgs(1)
	cli.Words(cmd.Flags(), "layout", layout.Words()...)
	cli.Words(cmd.Flags(), "vanished", "keep", "remove")
	o.given = cmd.Flags().Changed
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		defer cli.Bound()()
		var b *Built
		err := cli.UntilSignal(cmd.Context(), func(ctx context.Context) (err error) {
			var far mirror.Progress
			return progress.New(std.Err, o.quiet, false).WhileMirrored(ctx, &far, func() (err error) {
				b, err = rebuildMirror(ctx, args, &o, &far)
				return err
			})
		})
		switch {
		case err != nil:
			return err
		case b == nil:
			return fmt.Errorf("no page is archived in %s, so no mirror can be made%s", args[0], reasonsIn(args[0]))
		case !o.quiet:
			fmt.Fprint(std.Err, b.Lead(), b.Text())
		}
		if o.json {
			if err := cli.WriteJSON(std.Out, b); err != nil {
				return err
			}
		}
		if b.Unreadable > 0 {
			return cli.Silent(cli.ExitIncomplete)
		}
		return nil
	}
	return cmd
}

// reasonsIn names the command that says why a crawl fetched nothing. It is empty for WARC files, which have no such command.
func reasonsIn(path string) string {
	if _, err := os.Stat(filepath.Join(path, crawldir.ConfigName)); err != nil {
		return ""
	}
	return "; curtsy report " + plainly.Argument(path) + " says why"
}

// rebuildMirror makes the mirror of a crawl directory or of WARC files.
func rebuildMirror(ctx context.Context, args []string, o *rebuildOptions, progress *mirror.Progress) (*Built, error) {
	fi, err := os.Stat(args[0])
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	if o.to != "" {
		if err := (userfile.Kind{Own: []string{mirror.Tree("")}}).Outside(mirror.Tree(o.to), crawldir.Place()); err != nil {
			return nil, cli.Usagef("--output: %w", err)
		}
		if err := os.MkdirAll(o.to, 0o777); err != nil {
			return nil, err
		}
	}
	out := mirror.Options{Dir: o.to, Fresh: o.overwrite, MaxBody: int64(o.maxBody), Progress: progress}
	if !fi.IsDir() {
		if o.to == "" {
			return nil, cli.Usagef("name the folder for a mirror of WARC files: curtsy mirror rebuild -o DIR %s", plainly.Argument(args[0]))
		}
		for _, path := range args {
			if err := userfile.Readable(path); err != nil {
				return nil, cli.Usagef("mirror: %w", err)
			}
		}
		out.Layout = layout.Layout{Kind: o.layout, Cut: int(min(o.cut, layout.MaxCut+1))}
		if err := out.Layout.Check(); err != nil {
			return nil, cli.Usagef("%w", err)
		}
		out.Archive.Segments, out.Previews, out.Vanished = args, o.previews, o.vanished
		return buildTree(ctx, out, "")
	}
	dir := args[0]
	if len(args) > 1 {
		return nil, cli.Usagef("mirror rebuild takes one crawl directory, or WARC files: not %s and more", plainly.Argument(dir))
	}
	if err := crawldir.Require(dir); err != nil {
		return nil, err
	}
	s, err := config.Of(dir)
	if err != nil {
		return nil, err
	}
	if err := o.lay(s); err != nil {
		return nil, err
	}
	if o.given("vanished") {
		s.Vanished = o.vanished
	}
	if o.given("previews") {
		s.Previews = o.previews
	}
	if o.to == "" {
		out.Dir = dir
	}
	out.MaxBody = max(out.MaxBody, s.MaxBody)
	b, err := mirrorCrawl(ctx, s, dir, out)
	if b != nil {
		b.of = out.Dir
	}
	if b != nil && err == nil && o.to == "" && (o.given("layout") || o.given("cut-dirs")) {
		err = crawldir.RememberLayout(dir, s.MirrorLayout())
	}
	return b, err
}

// lay gives s the layout that the flags ask for. Another one than that of the crawl begins without its cut.
func (o *rebuildOptions) lay(s *crawldir.Settings) error {
	if o.given("layout") && o.layout != s.Layout {
		s.Layout, s.Cut = o.layout, 0
	}
	if o.given("cut-dirs") {
		s.Cut = o.cut
	}
	if err := s.MirrorLayout().Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	return nil
}
