package main

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"curtsy/storage/ledger"
	"curtsy/storage/wacz"
)

// ledgerParts are the files of a ledger that are packed: its lines, its checkpoints with what others said of them, the
// tiles that proofs are made of, and the map of hosts.
func ledgerParts(dir string) (parts []wacz.File, err error) {
	err = filepath.WalkDir(dir, func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if name = filepath.ToSlash(name); err == nil && isLedgerPart(name) {
			parts = append(parts, wacz.File{Name: path.Join("ledger", name), Path: file})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("pack: %w", err)
	}
	return parts, nil
}

// tileFolder is where a ledger has its tiles (docs/reference/ledger.md).
const tileFolder = "tile"

// isLedgerPart reports whether a file below the folder of a ledger is one of it, and no half-written one.
func isLedgerPart(name string) bool {
	folder, _, below := strings.Cut(name, "/")
	switch {
	case below:
		return (folder == tileFolder || folder == ledger.CheckpointFolder) && !strings.HasSuffix(name, ".new")
	case name == ledger.CheckpointName:
		return true
	}
	return strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".jsonl.zst")
}
