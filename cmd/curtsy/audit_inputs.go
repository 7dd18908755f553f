package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/robots"
	"curtsy/storage/audit"
	"curtsy/storage/audit/accesslog"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
	"curtsy/storage/wacz"
)

// knownLedgers is what an auditor knows, and who is believed.
type knownLedgers struct {
	key       string   // FILE or the key
	heads     []string // FILE or SIZE:HEX
	witnesses []string // FILE or the key
}

// given refuses what is given and empty: an empty variable of a shell must not pass for a check.
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

// any reports whether something is known.
func (k *knownLedgers) any() bool {
	return k.key != "" || len(k.heads)+len(k.witnesses) > 0
}

var errNoLedger = cli.Usagef("--key, --checkpoint and --witness-key need a ledger: give the crawl directory or the WACZ file that holds it")

// read puts what is known into the options of the comparison with a ledger.
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

// keptHead has a crawl directory held to the newest checkpoint of its ledger that was kept beside the key, if this is the
// machine of its operator. It is read before the ledger is, which has it first.
func keptHead(l *reconcile.Options) error {
	if l.Root == "" {
		return nil
	}
	kept, err := crawldir.KeptHead(l.Root)
	if kept == nil || err != nil {
		return err
	}
	l.Kept, l.KeptIn = &kept.Checkpoint, kept.File
	return nil
}

// trusted returns the keys of those who are believed; the operator's is zero if none was given.
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

// keyAt reads a verifier key, from the file of that name if there is one.
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

// textAt returns the content of the file s. If no such file exists, it returns s.
func textAt(flag, s string) (string, error) {
	b, err := fileAt(flag, s)
	var path *fs.PathError
	if errors.As(err, &path) && !errors.Is(err, fs.ErrPermission) {
		return s, nil // it names no file, or cannot name one
	}
	return string(b), err
}

// maxKnown is the most that is read of a file, in bytes.
const maxKnown = 1 << 20

func fileAt(flag, path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, cli.Usagef("%s: %w", flag, err)
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return nil, cli.Usagef("%s: %s is not a file", flag, plainly.Argument(path))
	}
	var b bytes.Buffer
	if _, err := io.Copy(&b, io.LimitReader(f, maxKnown)); err != nil {
		return nil, cli.Usagef("%s: %w", flag, err)
	}
	return b.Bytes(), nil
}

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

// archivesAt returns the WARC files that paths name, sorted by name, and the ledger beside them, which may be missing.
// The content of a WACZ file is unpacked into temp.
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

// isPackage reports whether a file is a WACZ file, by its name or by its first octets.
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

// archiveAt returns the WARC files that path names, sorted by name, and the ledger beside them, which may be missing.
func archiveAt(path string) (files []string, ledgerDir string, err error) {
	fi, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", cli.Usagef("audit: %w", err)
	}
	if err != nil {
		return nil, "", fmt.Errorf("audit: %w", err)
	}
	if !fi.IsDir() {
		if !fi.Mode().IsRegular() { // a pipe would be waited for, and it is read more than once
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
			if fi, err := os.Stat(files[len(files)-1]); err == nil && !fi.Mode().IsRegular() { // a pipe would be waited for
				return nil, "", fmt.Errorf("audit: %s is not a regular file", files[len(files)-1])
			}
		}
	}
	if len(files) == 0 && !hasSegment(ledgerDir) { // a kill may come before the first exchange, and the ledger tells
		return nil, "", cli.Usagef("audit: %s holds no WARC file (*.warc, *.warc.gz)", dir)
	}
	slices.Sort(files)
	return files, ledgerDir, nil
}

// packedName is what the folder of the archive is called in an unpacked WACZ file.
const packedName = "archive"

// ledgerBeside returns where the ledger of the archive in dir is, or where it must be: path is that folder, or the crawl
// directory that holds it. It is "" where there can be none.
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

// archiveFolder returns the folder that holds only WARC files of the crawl with this ledger. It is empty if the folder
// holds the whole crawl, or does not exist.
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

// hasSegment reports whether a ledger has begun.
func hasSegment(dir string) bool {
	if dir == "" {
		return false
	}
	all, err := crawldir.Entries(dir, "0", ".jsonl")
	return err == nil && len(all) > 0
}

func isDir(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.IsDir()
}

// besideFiles says where the files are that a ledger has marks of, if the archive stands where a crawl puts it.
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
