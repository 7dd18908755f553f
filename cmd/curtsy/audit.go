package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/cmd/curtsy/cli"
	"curtsy/cmd/curtsy/progress"
	"curtsy/cmd/curtsy/text"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/policypage"
	"curtsy/frontier/durable"
	"curtsy/frontier/engine"
	"curtsy/robots"
	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/cbcp"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/ledger"
	"curtsy/storage/wacz"
)

// auditing is one invocation of audit.
type auditing struct {
	logs  []string // [HOST=]FILE
	texts []string // robots.txt, [HOST=]FILE
	from  []string // addresses of the crawler
	known knownLedgers
	floor crawldir.Duration
	rules string
	token string
	skew  crawldir.Duration
	json  bool
	quiet bool
	html  string

	practices
	fleet *audit.Fleet  // of the directories of several members, given together
	all   *[]memberJSON // results for --json of them
}

// logSkew is by how much the clocks of a site and of the crawler may differ, unless the operator says otherwise.
const logSkew = 2 * time.Second

// auditCommand is curtsy audit.
func auditCommand(std cli.Streams) *cobra.Command {
	a := auditing{skew: crawldir.Duration(logSkew), rules: "standards"}
	cmd := cli.Command("audit", cli.Flags{
		"access-log": &a.logs, "clock-skew": &a.skew, "from": &a.from, "robots": &a.texts,
		"key": &a.known.key, "checkpoint": &a.known.heads, "witness-key": &a.known.witnesses,
		"floor": &a.floor, "rules": &a.rules, "agent": &a.token, "cbcp": &a.on, "bot-page": &a.page, "bot-ranges": &a.ranges,
		"json": &a.json, "quiet": &a.quiet, "html": &a.html,
	})
	cmd.Args = cobra.ArbitraryArgs
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return a.known.given(cmd.Flags()) }
	cmd.RunE = cli.Interruptible(func(ctx context.Context, args []string) error {
		if len(args) > 1 && !slices.ContainsFunc(args, func(p string) bool { return !isDir(filepath.Join(p, crawldir.LedgerName)) }) {
			return a.members(ctx, args, std)
		}
		return a.run(ctx, args, std)
	})
	cmd.Flags().SortFlags = false
	cli.Words(cmd.Flags(), "rules", "standards", "curtsy")
	return cmd
}

// memberJSON is the result of a member in the object of all.
type memberJSON struct {
	Member string `json:"member"`
	Audit  any    `json:"audit"`
}

// members audits the crawl directories of several members of a fleet, and then all together.
func (a *auditing) members(ctx context.Context, dirs []string, std cli.Streams) error {
	if len(a.logs)+len(a.known.heads) > 0 || a.html != "" {
		return cli.Usagef("--access-log, --checkpoint and --html are for one crawl directory at a time")
	}
	fleet, err := a.notices(dirs)
	if err != nil {
		return err
	}
	var found error
	all := []memberJSON{}
	for i, dir := range dirs {
		one := *a
		one.fleet, fleet.Member, fleet.Last = fleet, dir, i == len(dirs)-1
		if a.json {
			one.all = &all
		} else if _, err := fmt.Fprintf(std.Out, "%s%s:\n", strings.Repeat("\n", min(i, 1)), dir); err != nil {
			return err
		}
		err := one.run(ctx, []string{dir}, std)
		var code *cli.Error
		if err != nil && (!errors.As(err, &code) || code.Code != cli.ExitFound) {
			return err
		}
		found = cmp.Or(found, err)
	}
	if a.json {
		if err := cli.WriteJSON(std.Out, map[string]any{"members": all}); err != nil {
			return err
		}
	}
	return found
}

// notices reads the marks of the members' ledgers.
func (a *auditing) notices(dirs []string) (*audit.Fleet, error) {
	f := &audit.Fleet{}
	var crawl, of string
	given, known := map[string]bool{}, map[string]string{}
	for i, dir := range dirs {
		if j := slices.IndexFunc(dirs, func(d string) bool { return filepath.Clean(d) == filepath.Clean(dir) }); j < i {
			return nil, cli.Usagef("%s is given twice", dirs[j])
		}
		given[engine.MemberID(dir)] = true // a member that crawled nothing has no mark
		for m, err := range ledger.Marks(filepath.Join(dir, crawldir.LedgerName)) {
			if err != nil { // the audit of the directory reports it
				break
			}
			n := m.Fleet
			if n == nil {
				continue
			}
			if crawl != "" && n.Crawl != crawl {
				return nil, cli.Usagef("%s and %s are of different crawls: audit the members of one crawl together", of, dir)
			}
			crawl, of, given[n.Dir] = n.Crawl, dir, true
			maps.Copy(known, n.Members)
			f.Notice(dir, audit.Notice{Taken: n.Taken, Given: n.Given, Asked: n.Asked, Server: n.Server, Time: m.Time})
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		if !given[id] {
			f.Missing = append(f.Missing, known[id]+" ("+id+")")
		}
	}
	return f, nil
}

func (a *auditing) run(ctx context.Context, paths []string, std cli.Streams) error {
	defer cli.Bound()()
	temp, err := os.MkdirTemp("", "curtsy-audit-")
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer os.RemoveAll(temp)
	if len(paths) == 0 && len(a.logs) > 0 {
		return a.logsAlone(ctx, temp, std)
	}
	o, l, pack, err := a.options(ctx, paths, temp)
	if err != nil {
		return err
	}
	o.TempDir, l.TempDir = temp, temp
	var book *reconcile.Ledger
	switch {
	case l.Dir != "" && !isDir(l.Dir):
		o.Witnesses = append(o.Witnesses, reconcile.NoLedger(l.Dir))
	case l.Dir != "":
		o.Ours = true
		if book, err = reconcile.Open(ctx, l); err != nil {
			return err
		}
		o.Witnesses = append(o.Witnesses, book)
	}
	if folder := archiveFolder(o.Files, l.Dir); l.Dir != "" && pack == nil && folder != "" {
		o.Witnesses = append(o.Witnesses, audit.NotRead(folder, o.Files))
	}
	if a.fleet != nil {
		o.Witnesses = append(o.Witnesses, a.fleet)
	}
	if err := a.accessLogs(&o, book, std); err != nil {
		return err
	}
	if pack != nil {
		o.LeftOut = pack.LeftOut()
		o.Witnesses = append(o.Witnesses, pack)
	}
	if err := a.begin(&o); err != nil {
		return err
	}
	var r *audit.Result
	err = progress.While(ctx, std.Err, a.quiet, progress.NewWork("audit", "").Reads(1, o.Files...), func(ctx context.Context) (err error) {
		r, err = audit.Run(ctx, o)
		return err
	})
	if errors.Is(err, accesslog.ErrManyHosts) {
		return cli.Usagef("%w: --access-log HOST=FILE or HOST:PORT=FILE", err)
	}
	if errors.Is(err, audit.ErrNothing) {
		return fmt.Errorf("%w: %s", err, strings.Join(paths, ", "))
	}
	if err != nil {
		return err
	}
	rename := func() {}
	if pack != nil {
		rename = func() { pack.Name(r) }
	}
	a.conclude(r, rename)
	if r.Ledger == nil {
		r.CannotShow = append(r.CannotShow, "ledger: none was given, so decisions without a request, and records removed from the archive, are unknown")
	}
	return a.write(r, std)
}

// write puts the result where it was asked for, and says by the exit code what it is.
func (a *auditing) write(r *audit.Result, std cli.Streams) error {
	if a.html != "" {
		if err := durable.Output(a.html, func(w io.Writer) error { return text.WritePageWith(w, r, a.judged) }); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if a.all != nil {
		*a.all = append(*a.all, memberJSON{a.fleet.Member, a.object(r)})
	} else if a.json {
		if err := cli.WriteJSON(std.Out, a.object(r)); err != nil {
			return err
		}
	} else if _, err := io.WriteString(std.Out, text.Audit(r)+a.text()); err != nil {
		return err
	}
	if !r.Clean || a.brokenMust() {
		return cli.Silent(cli.ExitFound)
	}
	return nil
}

// mayWrite refuses a page that cannot be written, or would take the place of something else, before there is any work.
func (a *auditing) mayWrite() error {
	if folder := filepath.Dir(a.html); a.html != "" && !isDir(folder) {
		return cli.Usagef("--html: folder %s does not exist; create it first", folder)
	}
	page := userfile.Kind{Name: "an audit page", Mark: `<meta name="generator" content="curtsy audit">`} // as the page has it
	return cli.MayWrite("--html", a.html, page)
}

// options reads paths and flags.
func (a *auditing) options(ctx context.Context, paths []string, temp string) (o audit.Options, l reconcile.Options, pack *wacz.Package, err error) {
	o = audit.Options{Floor: time.Duration(a.floor), Token: a.token}
	switch a.rules {
	case "standards":
	case "curtsy":
		o.Strict = true
	default:
		return o, l, nil, cli.Usagef("--rules %q is unknown: write standards or curtsy", a.rules)
	}
	if len(paths) == 0 {
		return o, l, nil, cli.Usagef("audit takes a crawl directory, a WACZ file or WARC files: curtsy audit PATH…")
	}
	if len(a.texts) > 0 {
		return o, l, nil, cli.Usagef("--robots is for access logs without an archive: here each request is checked against the robots.txt files that the archive holds; " +
			"leave --robots out")
	}
	if a.token != "" {
		if err := robots.ValidToken(a.token); err != nil {
			return o, l, nil, cli.Usagef("--agent: %w", err)
		}
	}
	if err := a.mayWrite(); err != nil {
		return o, l, nil, err
	}
	if o.Files, l.Dir, pack, err = archivesAt(ctx, paths, temp); err != nil {
		return o, l, nil, err
	}
	if err := a.known.read(&l); err != nil {
		return o, l, nil, err
	}
	if pack != nil {
		l.Stated, l.Base = pack.Stated, pack.Base
	} else {
		besideFiles(&l, o.Files)
		if err := keptHead(&l); err != nil {
			return o, l, nil, err
		}
	}
	return o, l, pack, nil
}

// practices is what --cbcp adds to an audit: the crawler best practices, clause by clause.
type practices struct {
	on     bool
	page   string // copies of what the operator publishes
	ranges string
	judge  *cbcp.Judge
	judged *cbcp.Result // nil without --cbcp
}

// begin lets the judge see the audit.
func (p *practices) begin(o *audit.Options) error {
	if !p.on {
		if p.page != "" || p.ranges != "" {
			return cli.Usagef("--bot-page and --bot-ranges need --cbcp")
		}
		return nil
	}
	said, err := p.published()
	if err != nil {
		return err
	}
	p.judge = cbcp.New(said)
	o.Witnesses = append(o.Witnesses, p.judge)
	return nil
}

// published reads the copies of what the operator publishes.
func (p *practices) published() (said cbcp.Published, err error) {
	if p.page != "" {
		b, err := userfile.ReadAll(p.page, policypage.MaxDocument)
		if err != nil {
			return said, fmt.Errorf("--bot-page: %w", err)
		}
		page, err := policypage.ReadPage(b)
		if err != nil {
			return said, fmt.Errorf("--bot-page: %s: %w", p.page, err)
		}
		said.Page, said.Text, said.Leads = p.page, page.Text, page.Leads
		for _, to := range page.Links["client-ranges"] {
			if said.RangesLink == "" {
				said.RangesLink = to
			}
		}
	}
	if p.ranges != "" {
		b, err := userfile.ReadAll(p.ranges, policypage.MaxDocument)
		if err != nil {
			return said, fmt.Errorf("--bot-ranges: %w", err)
		}
		said.Ranges = p.ranges
		ranges, err := policypage.ReadRanges(b, "")
		if err != nil {
			said.Fault = err.Error()
		}
		said.Prefixes, said.Made = len(ranges.Prefixes), ranges.Created
	}
	return said, nil
}

// conclude judges, when the audit is done. rename gives the files in r the names to show.
func (p *practices) conclude(r *audit.Result, rename func()) {
	names := make(map[string]string, len(r.Files))
	read := make([]string, len(r.Files))
	for i := range r.Files {
		read[i] = r.Files[i].Name
	}
	rename()
	if p.judge == nil {
		return
	}
	for i := range r.Files {
		names[read[i]] = r.Files[i].Name
	}
	p.judged = p.judge.Conclude(r, names)
}

// object is the result for --json: that of the audit, with a field more.
func (p *practices) object(r *audit.Result) any {
	if p.judged == nil {
		return r
	}
	return struct {
		*audit.Result

		Practices *cbcp.Result `json:"cbcp"`
	}{r, p.judged}
}

func (p *practices) text() string {
	if p.judged == nil {
		return ""
	}
	return text.Practices(p.judged)
}

// brokenMust reports whether the crawl broke something that a crawler must do.
func (p *practices) brokenMust() bool { return p.judged != nil && p.judged.Musts > 0 }
