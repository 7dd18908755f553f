package crawlcmd

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/scope"
	"curtsy/frontier"
	"curtsy/storage/mirror"
	"curtsy/storage/plainly"
)

// mirrorDefaults are the settings that a mirror has otherwise than a crawl, unless the user says something else.
var mirrorDefaults = map[string]string{"scope": "prefix", "page-requisites": "all,script", "max-body": "1GiB"}

func NewMirror(std cli.Streams) *cobra.Command {
	var s crawldir.Settings
	o := options{planning: planningDefaults()}
	cmd := cli.Command("mirror")
	cmd.Long += "\n\n" + config.Scopes
	cmd.Args = cobra.ArbitraryArgs
	fs := cmd.Flags()
	o.placeFlags(fs)
	config.Flags(&s, fs)
	o.flags(fs)
	cli.Often(fs, "page-requisites", "vanished", "layout", "cut-dirs")
	for name, value := range mirrorDefaults {
		setDefault(fs.Lookup(name), value)
	}
	is := fs.Lookup("mirror")
	setDefault(is, "true")
	is.Usage = "write the copy at the end of each run; with false, only curtsy mirror rebuild\nwrites it"
	cmd.RunE = o.logged(std, func(cmd *cobra.Command, args []string, std cli.Streams) error {
		if is.Changed && s.Mirror {
			return cli.Usagef("--mirror is the default here; --mirror=false leaves the copy to curtsy mirror rebuild")
		}
		is.Changed = true // whatever a file of settings says: that is what the command is for
		return crawl(cmd.Context(), fs, &s, &o, World{}, args, std)
	})
	cmd.AddCommand(newServe(std), newMirrorCheck(std), newRebuild(std))
	return cmd
}

// ownRequisites limits the requisites of a mirror to the hosts of its seeds if these are loopback and no contact is set: any
// other host must learn whom to ask about the crawler. The summary names what pages lack because of that.
func ownRequisites(s *crawldir.Settings, flags *pflag.FlagSet, seeds []frontier.Candidate) {
	if f := flags.Lookup("page-requisites"); s.Requisites == "script" && f.DefValue == mirrorDefaults["page-requisites"] {
		s.Requisites = f.DefValue
	}
	foreign := slices.ContainsFunc(seeds, func(c frontier.Candidate) bool { return !c.URL.Authority().Loopback() })
	id := s.Identity()
	which, scripts := scope.SplitRequisites(s.Requisites)
	if !s.Mirror || which != scope.RequisitesAll || foreign || id.CheckContact() == nil {
		return
	}
	s.Requisites = scope.RequisitesHost
	if scripts {
		s.Requisites += ",script"
	}
}

// setDefault gives a flag another default. The value is one of ours.
func setDefault(f *pflag.Flag, value string) {
	if err := f.Value.Set(value); err != nil {
		panic(err)
	}
	f.DefValue = value
}

// Again makes the mirror of a crawl directory again, as its settings have it. Where nothing is archived any more there is
// none.
func Again(ctx context.Context, dir string) error {
	b, err := rebuildMirror(ctx, []string{dir}, &rebuildOptions{maxBody: 1 << 30, given: func(string) bool { return false }}, new(mirror.Progress))
	if err != nil || b != nil {
		return err
	}
	return os.RemoveAll(mirror.Tree(dir))
}

// newServe serves a mirror on this machine, or to others.
func newServe(std cli.Streams) *cobra.Command {
	listen, offline := "127.0.0.1:0", false
	cmd := cli.Command("mirror serve", cli.Flags{"listen": &listen, "offline": &offline})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return serveMirror(cmd.Context(), args[0], listen, offline, std)
	}
	return cmd
}

func serveMirror(ctx context.Context, dir, listen string, offline bool, std cli.Streams) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	tree, err := mirrorIn(dir)
	if err != nil {
		return err
	}
	var start string
	if tree != dir {
		start = firstSeed(ctx, dir)
	}
	l, err := cli.Listen(ctx, listen)
	if err != nil {
		return err
	}
	elsewhere := cli.Elsewhere(l.Addr())
	h, err := mirror.NewHandler(mirror.ServeOptions{Tree: tree, Start: start, Offline: offline, AnyName: elsewhere})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if elsewhere {
		fmt.Fprintf(std.Err, "other machines may reach %s, and see everything in the mirror\n", l.Addr())
	}
	if _, err := fmt.Fprintf(std.Out, "http://%s/\n", cli.FromHere(l.Addr())); err != nil {
		return errors.Join(err, l.Close(), h.Close())
	}
	fmt.Fprintln(std.Err, "serving until Ctrl-C")
	return errors.Join(untilDone(ctx, l, h), h.Close())
}

// untilDone serves until ctx ends, and then lets the answers under way be finished.
func untilDone(ctx context.Context, l net.Listener, h http.Handler) error {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	err := server.Shutdown(last)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if served := <-failed; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// newMirrorCheck lists what does not lead to a file of the copy.
func newMirrorCheck(std cli.Streams) *cobra.Command {
	var asJSON, wrong bool
	cmd := cli.Command("mirror check", cli.Flags{"json": &asJSON, "wrong": &wrong})
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error {
		return mirrorCheck(ctx, args[0], asJSON, wrong, std)
	})
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
