package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	"curtsy/storage/htmlpage"
	"curtsy/storage/ledger"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
	"curtsy/storage/wacz"
)

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

// logSkew is the default tolerance between the clocks of a site and of the crawler.
const logSkew = 2 * time.Second

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

// notices reads the fleet's notices in the marks of the members' ledgers.
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

// write writes the result, and reports by the exit code whether the audit found something.
func (a *auditing) write(r *audit.Result, std cli.Streams) (err error) {
	if a.html != "" {
		if err := durable.Output(a.html, func(w io.Writer) error { return text.WriteAuditPage(w, r, a.judged) }); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	switch {
	case a.all != nil:
		*a.all = append(*a.all, memberJSON{a.fleet.Member, a.object(r)})
	case a.json:
		err = cli.WriteJSON(std.Out, a.object(r))
	default:
		shown := text.Audit(r)
		if a.judged != nil {
			shown += text.Practices(a.judged)
		}
		_, err = io.WriteString(std.Out, shown)
	}
	if err == nil && (!r.Clean || a.judged != nil && a.judged.Musts > 0) {
		return cli.Silent(cli.ExitFound)
	}
	return err
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
	if folder := filepath.Dir(a.html); a.html != "" && !isDir(folder) {
		return o, l, nil, cli.Usagef("--html: folder %s does not exist; create it first", folder)
	}
	page := userfile.Kind{Name: "an audit page", Mark: htmlpage.Mark("curtsy audit")}
	if err := cli.MayWrite("--html", a.html, page); err != nil {
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
		if l.Root != "" {
			// The operator's machine keeps the newest checkpoint beside the key. It is read before the ledger, which has
			// each checkpoint first.
			kept, err := crawldir.KeptHead(l.Root)
			if err != nil {
				return o, l, nil, err
			}
			if kept != nil {
				l.Kept, l.KeptIn = &kept.Checkpoint, kept.File
			}
		}
	}
	return o, l, pack, nil
}

// practices is the part of --cbcp: it judges a crawl by the crawler best practices, clause by clause.
type practices struct {
	on     bool
	page   string // copies of the operator's publications
	ranges string
	judge  *cbcp.Judge
	judged *cbcp.Result // nil without --cbcp
}

func (p *practices) begin(o *audit.Options) error {
	if !p.on {
		if p.page != "" || p.ranges != "" {
			return cli.Usagef("--bot-page and --bot-ranges need --cbcp")
		}
		return nil
	}
	published, err := p.published()
	if err != nil {
		return err
	}
	p.judge = cbcp.New(published)
	o.Witnesses = append(o.Witnesses, p.judge)
	return nil
}

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
		said.RangesLink = cmp.Or(page.Links["client-ranges"]...)
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

// conclude judges a finished audit. rename replaces the names of the files in r with those to show.
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

// object is the value for --json: r, with the field cbcp if there is a judgement.
func (p *practices) object(r *audit.Result) any {
	if p.judged == nil {
		return r
	}
	return struct {
		*audit.Result

		Practices *cbcp.Result `json:"cbcp"`
	}{r, p.judged}
}

// knownLedgers are the keys and checkpoints that the user trusts.
type knownLedgers struct {
	key       string   // FILE or the key
	heads     []string // FILE or SIZE:HEX
	witnesses []string // FILE or the key
}

// given refuses an empty value: an empty shell variable must not pass for a check.
func (k *knownLedgers) given(f *pflag.FlagSet) error {
	for name, of := range map[string][]string{"key": {k.key}, "checkpoint": k.heads, "witness-key": k.witnesses} {
		for _, s := range of {
			if s == "" && f.Changed(name) {
				return cli.Usagef("--%s is empty: leave it out, or give a value", name)
			}
		}
	}
	return nil
}

func (k *knownLedgers) any() bool { return k.key != "" || len(k.heads)+len(k.witnesses) > 0 }

var errNoLedger = cli.Usagef("--key, --checkpoint and --witness-key need a ledger: give the crawl directory or the WACZ file that holds it")

func (k *knownLedgers) read(l *reconcile.Options) error {
	if l.Dir == "" && k.any() {
		return errNoLedger
	}
	key, witnesses, err := k.trusted()
	if err != nil {
		return err
	}
	l.Key, l.Witnesses = key, witnesses
	for _, s := range k.heads {
		text, err := textAt("--checkpoint", s)
		if err != nil {
			return err
		}
		h, err := checkpoint.ParseKept(text)
		if err != nil && text == s && !strings.Contains(s, ":") {
			return cli.Usagef("--checkpoint: %s does not exist", plainly.Argument(s))
		}
		if err != nil {
			return cli.Usagef("--checkpoint %s: %w", plainly.Argument(s), err)
		}
		l.Heads = append(l.Heads, h)
	}
	return nil
}

// trusted reads the keys. The operator's is zero if none was given.
func (k *knownLedgers) trusted() (key checkpoint.Key, witnesses []checkpoint.Key, err error) {
	if k.key != "" {
		if key, err = keyAt("--key", k.key); err != nil {
			return key, nil, err
		}
	}
	for _, s := range k.witnesses {
		w, err := keyAt("--witness-key", s)
		if err != nil {
			return key, nil, err
		}
		witnesses = append(witnesses, w)
	}
	return key, witnesses, nil
}

// keyAt reads a verifier key, or the file s that holds one.
func keyAt(flag, s string) (checkpoint.Key, error) {
	text, err := textAt(flag, s)
	if err != nil {
		return checkpoint.Key{}, err
	}
	k, err := checkpoint.ParseKey(text)
	if err != nil {
		return k, cli.Usagef("%s %s: %w", flag, plainly.Argument(s), err)
	}
	return k, nil
}

// maxKnown bounds a file with a key or checkpoint, in bytes.
const maxKnown = 1 << 20

// textAt returns the content of the file s. If no such file exists, or can exist, it returns s.
func textAt(flag, s string) (string, error) {
	f, err := os.Open(s)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", cli.Usagef("%s: %w", flag, err)
	case err != nil:
		return s, nil
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return "", cli.Usagef("%s: %s is not a file", flag, plainly.Argument(s))
	}
	b, err := io.ReadAll(io.LimitReader(f, maxKnown))
	if err != nil {
		return "", cli.Usagef("%s: %w", flag, err)
	}
	return string(b), nil
}

// accessLogs adds the access logs as a witness.
func (a *auditing) accessLogs(o *audit.Options, book *reconcile.Ledger, std cli.Streams) error {
	lo := accesslog.Options{Stdin: std.In, TempDir: o.TempDir, Skew: max(time.Duration(a.skew), 1)}
	if book != nil {
		lo.Crashed, lo.TakenDown, lo.Whole = book.Crashed, book.TakenDown, true
	}
	if a.token != "" {
		lo.Tokens = []string{a.token}
	}
	var err error
	if lo.From, err = a.addresses(); err != nil {
		return err
	}
	if lo.Logs, err = a.logFiles(); err != nil {
		return err
	}
	switch {
	case len(lo.Logs) > 0:
		o.Witnesses = append(o.Witnesses, accesslog.Compare(lo))
	case len(lo.From) > 0:
		return cli.Usagef("--from is about access logs: give one with --access-log")
	}
	return nil
}

func (a *auditing) addresses() (all []netip.Prefix, err error) {
	for _, s := range a.from {
		p, err := netip.ParsePrefix(s)
		if addr, aerr := netip.ParseAddr(s); aerr == nil {
			p, err = netip.PrefixFrom(addr.Unmap().WithZone(""), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, cli.Usagef("--from %q is not an address: write it like 192.0.2.7 or 2001:db8::/64", s)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

func (a *auditing) logFiles() (all []accesslog.Log, err error) {
	for _, s := range a.logs {
		host, path := hostFile(s)
		if _, err := os.Stat(path); err != nil && path != accesslog.Stdin {
			return nil, fmt.Errorf("--access-log: %w", err)
		}
		if err := userfile.Readable(path); err != nil {
			return nil, cli.Usagef("--access-log: %w", err)
		}
		all = append(all, accesslog.Log{Host: host, Path: path})
	}
	return all, nil
}

func hostFile(s string) (host, path string) {
	if host, path, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(host, `/\`) {
		return strings.ToLower(host), path
	}
	return "", s
}

func (a *auditing) logsAlone(ctx context.Context, temp string, std cli.Streams) error {
	switch {
	case a.token == "":
		return cli.Usagef("an access log without an archive is judged for a product token: give --agent TOKEN, or the archive: curtsy audit --access-log FILE PATH")
	case a.on || a.practices.page != "" || a.practices.ranges != "":
		return cli.Usagef("--cbcp is judged by an archive: give a crawl directory, a WACZ file or WARC files")
	case a.known.any():
		return errNoLedger
	}
	if err := robots.ValidToken(a.token); err != nil {
		return cli.Usagef("--agent: %w", err)
	}
	o := accesslog.JudgeOptions{Stdin: std.In, Token: a.token, Floor: time.Duration(a.floor), Skew: time.Duration(a.skew), TempDir: temp}
	var err error
	if o.From, err = a.addresses(); err != nil {
		return err
	}
	if o.Logs, err = a.logFiles(); err != nil {
		return err
	}
	for _, s := range a.texts {
		host, path := hostFile(s)
		o.Robots = append(o.Robots, accesslog.Robots{Host: host, Path: path})
	}
	r, err := accesslog.Judge(ctx, o)
	if err != nil {
		return err
	}
	return a.write(r, std)
}

// archivesAt is archiveAt for several paths. It unpacks a WACZ file into temp.
func archivesAt(ctx context.Context, paths []string, temp string) (files []string, ledgerDir string, pack *wacz.Package, err error) {
	for _, p := range paths {
		if isPackage(p) {
			if len(paths) > 1 {
				return nil, "", nil, cli.Usagef("%s is a WACZ file: audit it by itself", p)
			}
			if pack, err = wacz.Open(ctx, p, filepath.Join(temp, "wacz")); err != nil {
				return nil, "", nil, err
			}
			return pack.Files, pack.Ledger, pack, nil
		}
		found, dir, err := archiveAt(p)
		if err != nil {
			return nil, "", nil, err
		}
		if dir != "" && len(paths) > 1 {
			return nil, "", nil, cli.Usagef("%s is a crawl directory: audit it by itself, or give its files, %s", p, filepath.Join(p, crawldir.ArchiveName, "*.warc.gz"))
		}
		files, ledgerDir = append(files, found...), dir
	}
	return files, ledgerDir, nil, nil
}

// isPackage reports whether a file is a WACZ file, by its name or its first bytes.
func isPackage(path string) bool {
	if fi, err := os.Stat(path); err != nil || !fi.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	n, _ := io.ReadFull(f, magic[:]) // a shorter file is not a ZIP file
	return strings.EqualFold(filepath.Ext(path), ".wacz") || bytes.Equal(magic[:n], []byte("PK\x03\x04"))
}

// archiveAt returns the WARC files of a path, sorted by name, and the folder of their ledger, which need not exist.
func archiveAt(path string) (files []string, ledgerDir string, err error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", cli.Usagef("audit: %w", err)
	}
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	if !fi.IsDir() {
		if !fi.Mode().IsRegular() { // a pipe blocks, and can be read only once
			return nil, "", fmt.Errorf("audit: %s is not a regular file", path)
		}
		return []string{path}, "", nil
	}
	dir := path
	if isDir(filepath.Join(path, crawldir.ArchiveName)) {
		dir = filepath.Join(path, crawldir.ArchiveName)
	} else if isDir(filepath.Join(path, packedName)) && isDir(filepath.Join(path, crawldir.LedgerName)) {
		dir = filepath.Join(path, packedName)
	}
	if ledgerDir = ledgerBeside(path, dir); ledgerDir != "" {
		if err := crawldir.Inspect(filepath.Dir(ledgerDir)); err != nil {
			return nil, "", err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".open") // a running crawl's last segment, or one that a kill left
		if strings.HasSuffix(name, ".warc") || strings.HasSuffix(name, ".warc.gz") {
			files = append(files, filepath.Join(dir, e.Name()))
			if fi, err := os.Stat(files[len(files)-1]); err == nil && !fi.Mode().IsRegular() {
				return nil, "", fmt.Errorf("audit: %s is not a regular file", files[len(files)-1])
			}
		}
	}
	// A crawl that was killed before its first exchange has a ledger, and no file.
	if segments, err := crawldir.Entries(ledgerDir, "0", ".jsonl"); len(files) == 0 && (err != nil || len(segments) == 0) {
		return nil, "", cli.Usagef("audit: %s holds no WARC file (*.warc, *.warc.gz)", dir)
	}
	slices.Sort(files)
	return files, ledgerDir, nil
}

// packedName is the folder of the archive in an unpacked WACZ file.
const packedName = "archive"

// ledgerBeside returns the folder where the ledger of the archive in dir is or belongs, "" for none. path is dir, or the
// crawl directory above it.
func ledgerBeside(path, dir string) string {
	if whole, err := filepath.Abs(path); err == nil && dir == path && filepath.Base(whole) == crawldir.ArchiveName {
		if up := filepath.Join(filepath.Dir(whole), crawldir.LedgerName); isDir(up) {
			return up
		}
	}
	for _, name := range []string{crawldir.LedgerName, crawldir.FrontierName, crawldir.ConfigName} {
		if _, err := os.Stat(filepath.Join(path, name)); err == nil {
			return filepath.Join(path, crawldir.LedgerName)
		}
	}
	if dir != path {
		return filepath.Join(path, crawldir.LedgerName)
	}
	return ""
}

// archiveFolder returns the folder that holds only the WARC files of a crawl; "" if it holds the whole crawl, or is missing.
func archiveFolder(files []string, ledgerDir string) string {
	folder := filepath.Join(filepath.Dir(ledgerDir), crawldir.ArchiveName)
	if len(files) > 0 {
		folder = filepath.Dir(files[0])
	}
	if folder == filepath.Dir(ledgerDir) || !isDir(folder) {
		return ""
	}
	return folder
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// besideFiles sets where to find the files that the ledger has marks of, if the archive is in a crawl directory.
func besideFiles(l *reconcile.Options, files []string) {
	if l.Dir == "" {
		return
	}
	folder, err := filepath.Abs(filepath.Join(filepath.Dir(l.Dir), crawldir.ArchiveName))
	if len(files) > 0 {
		folder, err = filepath.Abs(filepath.Dir(files[0]))
	}
	if err == nil && filepath.Base(folder) == crawldir.ArchiveName {
		l.Root, l.Settings, l.Before = filepath.Dir(l.Dir), crawldir.ConfigName, crawldir.ConfigBefore
	}
}
