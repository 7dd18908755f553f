package crawlcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/config"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/inquiry"
	"curtsy/crawler/policypage"
	"curtsy/frontier/canon"
	"curtsy/robots"
	"curtsy/storage/plainly"
)

// maxRedirects is how many redirects of one document are followed.
const maxRedirects = 5

// identityChecking is one invocation of identity check.
type identityChecking struct {
	settings  crawldir.Settings
	own       *pflag.FlagSet // the flags of settings
	config    string
	addresses []string
	json      bool

	inquiry *inquiry.Inquiry
}

func newCheck(std cli.Streams) *cobra.Command {
	var c identityChecking
	cmd := cli.Command("identity check")
	cmd.Args = cli.Exactly(1, "one URL")
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringSliceVar(&c.addresses, "address", nil, "`ADDRESS` public address of this machine: check that it is published; repeatable")
	cli.Group(fs, "Check")
	cli.JSONFlag(cmd, &c.json, "print JSON")
	c.own = config.Some(&c.settings, fs, config.Asking...)
	cli.Often(fs, "contact")
	fs.StringVar(&c.config, "config", "", "`FILE` settings file (TOML)")
	cli.Group(fs, "Asking the host")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0], std) }
	return cmd
}

func (c *identityChecking) run(ctx context.Context, raw string, std cli.Streams) error {
	at, err := cli.URL(raw)
	if err != nil {
		return err
	}
	want, err := c.wanted()
	if err != nil {
		return err
	}
	locks, err := crawldir.HostLocks(func(format string, args ...any) { fmt.Fprintf(std.Err, "curtsy: "+format+"\n", args...) })
	if err != nil {
		return err
	}
	if c.inquiry, err = inquiry.New(&c.settings, []canon.URL{at}, locks); err != nil {
		return errors.Join(err, locks.Close())
	}
	found, err := policypage.Look(ctx, at.String(), want, c.ask)
	if err = errors.Join(err, c.inquiry.Close(), locks.Close()); err != nil {
		return err
	}
	if err := c.print(at.String(), &found, std); err != nil {
		return err
	}
	switch {
	case found.Silent:
		return cli.Silent(cli.ExitFailed)
	case !found.Agree:
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

// wanted is what the settings and the answers that were kept say.
func (c *identityChecking) wanted() (w policypage.Wanted, err error) {
	if err := config.Resolve(&c.settings, c.own, c.config, ""); err != nil {
		return w, err
	}
	k, err := readKept()
	if err != nil {
		return w, err
	}
	id := c.settings.Identity()
	if err := id.Validate(); err != nil {
		return w, cli.Usagef("%w", err)
	}
	if id.Contact == "" && !k.there {
		return w, cli.Usagef("your settings do not identify you, so there is nothing to compare a page with; begin with curtsy identity init")
	}
	if w.Statement, err = k.statement(&c.settings, false); err != nil {
		return w, err
	}
	if w.Directory != "" {
		key, err := crawldir.ReadBotKey()
		switch {
		case err == nil:
			w.SigningKey = key.ID()
		case !errors.Is(err, fs.ErrNotExist):
			return w, err
		}
	}
	w.Carried, w.RangesKept, w.Now = id.Contact, k.there, time.Now()
	if strings.Contains(w.Carried, "://") { // compared with URLs as they are asked for
		if u, err := canon.Parse(w.Carried); err == nil {
			w.Carried = u.String()
		}
	}
	for _, text := range c.addresses {
		a, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || a.Zone() != "" {
			return w, cli.Usagef("--address %q: write an address, like 192.0.2.7 or 2001:db8::7", text)
		}
		w.Addresses = append(w.Addresses, a.Unmap())
	}
	return w, nil
}

// ask asks for a document, where robots.txt lets it, and follows redirects.
func (c *identityChecking) ask(ctx context.Context, raw string) (policypage.Answer, error) {
	a := policypage.Answer{URL: raw}
	for {
		u, err := canon.Parse(a.URL)
		if err != nil {
			a.Trouble = "not a URL that can be requested"
			return a, nil
		}
		had, err := c.inquiry.Ask(ctx, u.Authority(), "", robots.RFC9309)
		if err != nil {
			return a, err
		}
		if had.Body == nil && !had.Verdict.Allowed {
			a.Trouble, a.Silent = "its host's robots.txt is unavailable: "+reason(had.Failure), true
			return a, nil
		}
		if a.Trouble = c.forbidden(u, had); a.Trouble != "" {
			return a, nil
		}
		ex, err := c.inquiry.Exchange(ctx, u.String())
		if err != nil {
			return a, err
		}
		header := http.Header(ex.Header)
		a.Status, a.Body, a.Type = ex.Status, ex.Body, header.Get("Content-Type")
		switch {
		case ex.Failure != "":
			a.Trouble, a.Silent = reason(ex.Failure), true
			return a, nil
		case ex.Oversize:
			a.Trouble = "it is larger than " + plainly.ExactSize(policypage.MaxDocument)
			return a, nil
		}
		next := redirect(u, ex.Status, header.Get("Location"))
		if next == "" {
			return a, nil
		}
		if len(a.Redirects) == maxRedirects {
			a.Trouble = fmt.Sprintf("more than %d redirects", maxRedirects)
			return a, nil
		}
		a.Redirects, a.URL = append(a.Redirects, next), next
	}
}

// forbidden says why robots.txt does not let us ask for u; empty when it does.
func (c *identityChecking) forbidden(u canon.URL, had inquiry.Robots) string {
	if had.Body == nil {
		return ""
	}
	v := robots.Parse(had.Body, robots.Options{Token: c.settings.Agent}).Match(u.RequestURI())
	if v.Allowed {
		return ""
	}
	return fmt.Sprintf("line %d of its host's robots.txt forbids it to %s, and to every polite reader of that name", v.Line, c.settings.Agent)
}

// reason says a failure in plain words, and keeps the advice behind it.
func reason(failure string) string {
	name, advice, found := strings.Cut(failure, " (")
	if found {
		advice = " (" + advice
	}
	return plainly.Reason(name) + advice
}

// redirect is where a redirect leads; empty where there is none.
func redirect(from canon.URL, status int, location string) string {
	if !slices.Contains([]int{301, 302, 303, 307, 308}, status) {
		return ""
	}
	if to, err := from.Resolve(location); err == nil && location != "" {
		return to.String()
	}
	return location
}

// CheckJSON is what identity check --json prints.
type CheckJSON struct {
	Version int    `json:"version"`
	URL     string `json:"url"`
	*policypage.Findings
}

func (c *identityChecking) print(at string, f *policypage.Findings, std cli.Streams) error {
	if c.json {
		return cli.WriteJSON(std.Out, CheckJSON{1, at, f})
	}
	if _, err := fmt.Fprint(std.Out, text.Wrap(text.Render("identity", f))); err != nil {
		return err
	}
	switch n := disagreements(f); {
	case n == 0:
		fmt.Fprintln(std.Err, "the published files agree with your settings")
	case f.Silent:
		fmt.Fprintln(std.Err, "the page is unavailable")
	default:
		fmt.Fprintf(std.Err, "%s: publish the files of curtsy identity init, or fix the settings\n", plainly.Count(n, "disagreement"))
	}
	return nil
}

func disagreements(f *policypage.Findings) (n int) {
	for _, c := range f.Checks {
		if c.Result == policypage.Differs || c.Result == policypage.Missing {
			n++
		}
	}
	return n
}
