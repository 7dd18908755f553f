package main

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
)

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
