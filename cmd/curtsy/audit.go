package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"curtsy/robots"
	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/durable"
	"curtsy/storage/ledger"
)

// auditing is one invocation of audit.
type auditing struct {
	logs  []string // [HOST=]FILE
	from  []string // addresses of the crawler
	head  string
	floor duration
	rules string
	token string
	skew  duration
	json  bool
	html  string
}

// logSkew is by how much the clocks of a site and of the crawler may differ, unless the operator says otherwise.
const logSkew = 2 * time.Second

func newAudit(std stdio) *cobra.Command {
	a := auditing{skew: duration(logSkew)}
	cmd := &cobra.Command{
		Use:   "audit [flags] PATH…",
		Short: "Prove or refute politeness, from what a crawl left behind",
		Long: "Judge a crawl by its archive: read the archived robots.txt again and recompute\n" +
			"every verdict, pause and digest. PATH is a crawl directory, whose ledger must\n" +
			"agree, or WARC files of any crawler. With the site's own access log beside them,\n" +
			"both must tell of the same requests. Exit code 0: no violation; 3: violations,\n" +
			"each of them named; 1: it cannot be read.",
		Example: "  curtsy audit news\n" +
			"  curtsy audit --access-log www.your-domain.org=access.log news\n" +
			"  curtsy audit --floor 1s --html audit.html other-crawler.warc.gz",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return untilSignal(cmd.Context(), func(ctx context.Context) error { return a.run(ctx, args, std) })
		},
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringArrayVar(&a.logs, "access-log", nil, "`[HOST=]FILE`: the access log of a host, in Common or Combined Log Format or as JSON, also .gz or .zst, or - for standard input; repeatable, also for one host")
	fs.Var(&a.skew, "skew", "by how much the clocks of site and crawler may differ: `D`")
	fs.StringArrayVar(&a.from, "from", nil, "an `ADDRESS` or CIDR of the crawler: every logged request from there is its own; repeatable")
	fs.StringVar(&a.head, "head", "", "`HEX`: the ledger's head as it was lodged elsewhere; the chain must pass through it")
	inGroup(fs, "Beside the archive")
	fs.Var(&a.floor, "floor", "shortest pause to require of hosts that are not the operator's own: `D` (default: what the archive declares, at least 1s, if curtsy made it)")
	fs.StringVar(&a.rules, "rules", "standards", "the `RULES` that other crawlers are held to: standards, or curtsy, for what curtsy promises as well, as far as their archive shows it")
	fs.StringVar(&a.token, "agent", "", "product `TOKEN` to judge for (default: the archive's)")
	inGroup(fs, "Judgement")
	fs.BoolVar(&a.json, "json", false, "print one JSON object")
	fs.StringVar(&a.html, "html", "", "also write a page for people to `FILE`")
	inGroup(fs, "Output")
	return cmd
}

func (a *auditing) run(ctx context.Context, paths []string, std stdio) error {
	o, l, err := a.options(paths)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "curtsy-audit-")
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	defer os.RemoveAll(temp)
	o.TempDir, l.TempDir = temp, temp
	switch {
	case l.Dir != "" && !isDir(l.Dir):
		o.Witnesses = append(o.Witnesses, audit.NoLedger(l.Dir))
		if err := a.accessLogs(&o, nil, std); err != nil {
			return err
		}
	case l.Dir != "":
		o.Ours = true
		book, err := audit.NewLedger(ctx, l)
		if err != nil {
			return err
		}
		o.Witnesses = append(o.Witnesses, book)
		if err := a.accessLogs(&o, book.Crashed, std); err != nil {
			return err
		}
	default:
		if err := a.accessLogs(&o, nil, std); err != nil {
			return err
		}
	}
	r, err := audit.Run(ctx, o)
	if errors.Is(err, accesslog.ErrManyHosts) {
		return usagef("%w, --access-log HOST=FILE", err)
	}
	if errors.Is(err, audit.ErrNothing) {
		return fmt.Errorf("%w: %s", err, strings.Join(paths, ", "))
	}
	if err != nil {
		return err
	}
	if r.Ledger == nil {
		r.CannotShow = append(r.CannotShow, "ledger: there is none beside what was given, so what was decided without a request, and what was taken out of the archive, is not known")
	}
	return a.write(r, std)
}

// write puts the result where it was asked for, and says by the exit code what it is.
func (a *auditing) write(r *audit.Result, std stdio) error {
	if a.html != "" {
		if err := durable.Output(a.html, func(w io.Writer) error { return auditPage(w, r) }); err != nil {
			return fmt.Errorf("--html: %w", err)
		}
	}
	if a.json {
		if err := writeJSON(std.out, r); err != nil {
			return err
		}
	} else if _, err := io.WriteString(std.out, auditText(r)); err != nil {
		return err
	}
	if !r.Clean {
		return silent(exitFound)
	}
	return nil
}

// options reads paths and flags.
func (a *auditing) options(paths []string) (audit.Options, audit.LedgerOptions, error) {
	o := audit.Options{Floor: time.Duration(a.floor), Token: a.token}
	var l audit.LedgerOptions
	switch a.rules {
	case "standards":
	case "curtsy":
		o.Strict = true
	default:
		return o, l, usagef("--rules %q is unknown: write standards or curtsy", a.rules)
	}
	if len(paths) == 0 {
		return o, l, usagef("audit takes a crawl directory or WARC files: curtsy audit PATH…")
	}
	if a.token != "" {
		if err := robots.ValidToken(a.token); err != nil {
			return o, l, usagef("--agent: %w", err)
		}
	}
	if folder := filepath.Dir(a.html); a.html != "" && !isDir(folder) {
		return o, l, usagef("--html: there is no folder %s: make it first", folder)
	}
	for _, p := range paths {
		files, dir, err := archiveAt(p)
		if err != nil {
			return o, l, err
		}
		if dir != "" && len(paths) > 1 {
			return o, l, usagef("%s is a crawl directory: audit it alone, or give its files, %s", p, inDir(inDir(p, warcName), "*.warc.gz"))
		}
		o.Files = append(o.Files, files...)
		l.Dir = dir
	}
	if a.head == "" {
		return o, l, nil
	}
	if l.Dir == "" {
		return o, l, usagef("--head is of a ledger: give the crawl directory that holds it")
	}
	l.Head = new(ledger.Hash)
	if err := l.Head.UnmarshalText([]byte(strings.ToLower(strings.TrimSpace(a.head)))); err != nil {
		return o, l, usagef("--head: %w", err)
	}
	return o, l, nil
}

// archiveAt returns the WARC files that a path stands for, in the order of their names, and the ledger beside them, which
// may be missing.
func archiveAt(path string) (files []string, ledgerDir string, err error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	if strings.EqualFold(filepath.Ext(path), ".wacz") && !fi.IsDir() {
		return nil, "", fmt.Errorf("audit: %s is a WACZ file: unpack it (unzip -d FOLDER %s) and audit the folder", path, word(path))
	}
	if !fi.IsDir() {
		if !fi.Mode().IsRegular() { // a pipe would be waited for, and it is read more than once
			return nil, "", fmt.Errorf("audit: %s is no regular file", path)
		}
		return []string{path}, "", nil
	}
	dir := path
	if isDir(inDir(path, warcName)) {
		dir = inDir(path, warcName)
	} else if isDir(inDir(path, packedName)) && isDir(inDir(path, ledgerName)) {
		dir = inDir(path, packedName)
	}
	if ledgerDir = ledgerBeside(path, dir); ledgerDir != "" {
		if err := mustBeOurs(filepath.Dir(ledgerDir)); err != nil {
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
			if fi, err := os.Stat(files[len(files)-1]); err == nil && !fi.Mode().IsRegular() { // a pipe would be waited for
				return nil, "", fmt.Errorf("audit: %s is no regular file", files[len(files)-1])
			}
		}
	}
	if len(files) == 0 {
		return nil, "", fmt.Errorf("audit: %s holds no WARC file (*.warc, *.warc.gz)", dir)
	}
	slices.Sort(files)
	return files, ledgerDir, nil
}

// packedName is what the folder of the archive is called in an unpacked WACZ file.
const packedName = "archive"

// ledgerBeside returns where the ledger of the archive in dir is, or where it must be: path is that folder, or the crawl
// directory that holds it. It is "" where there can be none.
func ledgerBeside(path, dir string) string {
	if whole, err := filepath.Abs(path); err == nil && dir == path && filepath.Base(whole) == warcName {
		if up := inDir(filepath.Dir(whole), ledgerName); isDir(up) {
			return up
		}
	}
	for _, name := range []string{ledgerName, frontierName, configName} {
		if _, err := os.Stat(inDir(path, name)); err == nil {
			return inDir(path, ledgerName)
		}
	}
	if dir != path {
		return inDir(path, ledgerName)
	}
	return ""
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// accessLogs adds the witness of the access logs, if there are any.
func (a *auditing) accessLogs(o *audit.Options, crashed func(time.Time) bool, std stdio) error {
	lo := accesslog.Options{Stdin: std.in, TempDir: o.TempDir, Skew: max(time.Duration(a.skew), 1), Crashed: crashed, Whole: crashed != nil}
	if a.token != "" {
		lo.Tokens = []string{a.token}
	}
	for _, s := range a.from {
		p, err := netip.ParsePrefix(s)
		if addr, aerr := netip.ParseAddr(s); aerr == nil {
			p, err = netip.PrefixFrom(addr.Unmap().WithZone(""), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			return usagef("--from %q is no address: write it like 192.0.2.7 or 2001:db8::/64", s)
		}
		lo.From = append(lo.From, p.Masked())
	}
	for _, s := range a.logs {
		l := accesslog.Log{Path: s}
		if host, file, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(host, `/\`) {
			l.Host, l.Path = strings.ToLower(host), file
		}
		if _, err := os.Stat(l.Path); err != nil && l.Path != accesslog.Stdin {
			return fmt.Errorf("--access-log: %w", err)
		}
		lo.Logs = append(lo.Logs, l)
	}
	switch {
	case len(lo.Logs) > 0:
		o.Witnesses = append(o.Witnesses, accesslog.Compare(lo))
	case len(lo.From) > 0:
		return usagef("--from is about access logs: give one with --access-log")
	}
	return nil
}
