package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/storage/audit/reconcile"
	"curtsy/storage/wacz"
)

// archivesAt returns the WARC files that paths stand for, in the order of their names, and the ledger beside them, which
// may be missing. What a WACZ file holds is unpacked into temp.
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
	n, _ := io.ReadFull(f, magic[:]) // what is shorter is none
	return strings.EqualFold(filepath.Ext(path), ".wacz") || bytes.Equal(magic[:n], []byte("PK\x03\x04"))
}

// archiveAt returns the WARC files that a path stands for, in the order of their names, and the ledger beside them, which
// may be missing.
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

// archiveFolder is where the files of a crawl with that ledger stand, and nothing else; "" where its folder holds all of the
// crawl, or there is none.
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
