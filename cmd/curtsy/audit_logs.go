package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/robots"
	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/reconcile"
)

// accessLogs adds the witness of the access logs, if there are any.
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

// addresses reads --from.
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

// logFiles reads --access-log.
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

// hostFile reads [HOST=]FILE.
func hostFile(s string) (host, path string) {
	if host, path, ok := strings.Cut(s, "="); ok && !strings.ContainsAny(host, `/\`) {
		return strings.ToLower(host), path
	}
	return "", s
}

// logsAlone judges access logs without an archive.
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
