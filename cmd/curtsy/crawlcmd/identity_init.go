package crawlcmd

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/policypage"
	"curtsy/frontier/durable"
	"curtsy/storage/plainly"
)

// initing is one invocation of identity init.
type initing struct {
	settings crawldir.Settings // the contact that requests carry among them
	kept     kept
	ranges   string // of kept, as they are answered
	dir      string
}

func newInit(std cli.Streams) *cobra.Command {
	var in, flags initing
	var ranges []string
	cmd := cli.Command("identity init")
	cmd.Args = cli.NoArgs
	fs := cmd.Flags()
	config.IdentityFlags(&flags.settings, fs)
	fs.StringVar(&flags.kept.Retention, "retention", "", "`TEXT` how long data are kept, and who sees them")
	fs.StringVar(&flags.kept.URL, "url", "", "`URL` address where you will publish the page")
	fs.StringSliceVar(&ranges, "range", nil, "`CIDR` network that requests come from; repeatable; none if it changes")
	cli.Group(fs, "Page")
	fs.StringVar(&in.dir, "dir", "crawler-page", "`FOLDER` folder for the files")
	cli.Group(fs, "Output")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		flags.ranges, flags.kept.Contact = strings.Join(ranges, " "), flags.settings.Contact
		return in.run(&flags, cmd.Flags(), std)
	}
	return cmd
}

func (in *initing) run(flags *initing, fs *pflag.FlagSet, std cli.Streams) error {
	if in.dir == "" {
		return cli.Usagef("--dir: name a folder")
	}
	user, err := in.defaults()
	if err != nil {
		return err
	}
	given := fs.Changed
	if err := in.take(flags, given); err != nil {
		return err
	}
	if isTerminal(std.In) {
		if err := in.ask(std.In, std.Err, given); err != nil {
			return err
		}
	}
	if err := in.check(given); err != nil {
		return err
	}
	in.kept.Ranges = strings.Fields(in.ranges)
	if in.kept.URL != "" && in.kept.Contact == in.kept.URL {
		return cli.Usagef("--contact and --url: the page needs a contact beside itself: a mailbox, or another page")
	}
	// Requests that carry the page's own address go on to do so; others carry the contact that stands on it.
	if in.settings.Contact != in.kept.URL || in.settings.Contact == "" {
		in.settings.Contact = in.kept.Contact
	}
	return in.write(user, std)
}

// defaults fills in what was answered or set before. user are the values of the configuration file.
func (in *initing) defaults() (user map[string]any, err error) {
	unset := pflag.NewFlagSet("init", pflag.ContinueOnError)
	config.Flags(&in.settings, unset)
	if err := config.Resolve(&in.settings, unset, "", ""); err != nil {
		return nil, err
	}
	if in.kept, err = readKept(); err != nil {
		return nil, err
	}
	contact := in.settings.Identity().Contact
	in.settings.Contact = contact
	switch isURL := strings.Contains(contact, "://"); {
	case in.kept.URL == "" && isURL && policypage.PageURL(contact) == nil:
		in.kept.URL = contact
	case in.kept.Contact == "" && !isURL:
		in.kept.Contact = contact
	}
	in.ranges = strings.Join(in.kept.Ranges, " ")
	path, err := crawldir.UserConfig()
	if err != nil {
		return nil, err
	}
	l, err := config.ReadLayer(path, true)
	return l.Values, err
}

// take puts what flags answer in the place of what was kept. An optional answer is taken back with nothing.
func (in *initing) take(flags *initing, given func(flag string) bool) error {
	from := flags.questions()
	for i, q := range in.questions() {
		if !given(q.flag) {
			continue
		}
		if *q.to = *from[i].to; *q.to == "" && !q.optional {
			_, err := q.check("")
			return cli.Usagef("--%s: %w", q.flag, err)
		}
	}
	return nil
}

// write writes the documents, and then keeps the answers.
func (in *initing) write(user map[string]any, std cli.Streams) error {
	s, err := in.kept.statement(&in.settings, true)
	if err != nil {
		return err
	}
	s.Made = time.Now()
	written, err := in.documents(&s)
	if err != nil {
		return err
	}
	changed := map[string]string{}
	for name, value := range map[string]string{
		"agent": s.Token, "operator": s.Operator, "purpose": s.Purpose, "contact": in.settings.Contact,
	} {
		if v, ok := user[name]; v != value && (ok || name != "agent" || value != crawldir.Defaults().Agent) {
			changed[name] = value
		}
	}
	if len(changed) > 0 {
		path, err := crawldir.UserConfig()
		if err != nil {
			return err
		}
		if err := setKeys(path, changed); err != nil {
			return err
		}
	}
	if err := in.kept.keep(); err != nil {
		return err
	}
	for _, path := range written {
		fmt.Fprintln(std.Out, plainly.OneLine(path))
	}
	in.advise(&s, std.Err)
	return nil
}

// documents writes the three files, the page last. Nothing is written if one of them may not be.
func (in *initing) documents(s *policypage.Statement) (written []string, err error) {
	page := userfile.Kind{Name: "a page", Mark: policypage.PageMark}
	document := userfile.Kind{Name: "a document", Mark: policypage.Mark}
	files := []struct {
		name string
		kind userfile.Kind
		make func() ([]byte, error)
		text []byte
	}{
		{name: policypage.RangesName, kind: document, make: s.RangesJSON},
		{name: policypage.CardName, kind: document, make: s.CardJSON},
		{name: s.PageName(), kind: page, make: s.Page},
	}
	for i := range files {
		f := &files[i]
		if err := cli.MayWrite("--dir", filepath.Join(in.dir, f.name), f.kind); err != nil {
			return nil, err
		}
		if f.text, err = f.make(); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(in.dir, s.PageName())
	before, err := userfile.ReadAll(path, policypage.MaxDocument)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case len(before) > 0 && policypage.Edited(before):
		return nil, cli.Usagef("%s was changed by hand since curtsy wrote it: name another --dir, or remove it first", path)
	}
	if err := os.MkdirAll(in.dir, 0o777); err != nil {
		return nil, fmt.Errorf("--dir: %w", err)
	}
	for _, f := range files {
		path := filepath.Join(in.dir, f.name)
		err := durable.Output(path, func(w io.Writer) error { _, err := w.Write(f.text); return err })
		if err != nil {
			return nil, err
		}
		written = append(written, path)
	}
	return written, nil
}

// advise says what to do next.
func (in *initing) advise(s *policypage.Statement, to io.Writer) {
	say := func(format string, args ...any) { fmt.Fprintln(to, plainly.Lines(fmt.Sprintf(format, args...))) }
	if s.URL == "" {
		say("publish the files side by side; once you know the\nURL, set it with --url, so that the documents link to each other")
		return
	}
	say("publish the files side by side, the page at\n  %s\nthen see whether it is right:\n  curtsy identity check %s", s.URL, plainly.Argument(s.URL))
	if in.settings.Contact != s.URL {
		say("requests carry %s; when the page is there, they can lead to it:\n  curtsy identity set --contact %s", in.settings.Contact, plainly.Argument(s.URL))
	}
}
