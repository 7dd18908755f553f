package redact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/cdxj"
	"curtsy/storage/ledger"
)

// Ending says how a journal is finished.
type Ending struct {
	// Ledger opens the ledger of the directory, with the key of its operator.
	Ledger func() (*ledger.Writer, error)
	// Derive makes anew what is derived from archive and ledger, as Journal.Made and Journal.Packed name it. It is done
	// again if it did not end. Nil means that nothing is.
	Derive func(ctx context.Context, j *Journal) error
}

// Finish does what a journal says, as far as it is not done yet, and takes it away. The caller holds the directory up
// to Derive, which may take its lock itself. Until Finish returns nil the directory is for Finish alone.
func (j *Journal) Finish(ctx context.Context, dir string, e Ending) error {
	d := &disk{dir: dir}
	if err := j.evidence(ctx, d, e); err != nil {
		return err
	}
	return j.derived(ctx, d, e)
}

// Evidence is the part of Finish that changes archive, index and ledger, for a caller that holds the directory; Derived
// is the rest, for one that holds it no more.
func (j *Journal) Evidence(ctx context.Context, dir string, e Ending) error {
	return j.evidence(ctx, &disk{dir: dir}, e)
}

// Derived is the part of Finish behind Evidence.
func (j *Journal) Derived(ctx context.Context, dir string, e Ending) error {
	return j.derived(ctx, &disk{dir: dir}, e)
}

func (j *Journal) derived(ctx context.Context, d *disk, e Ending) error {
	if e.Derive != nil {
		if err := e.Derive(ctx, j); err != nil {
			return err
		}
	}
	return d.remove(JournalName)
}

func (j *Journal) evidence(ctx context.Context, d *disk, e Ending) error {
	for _, name := range []string{PreparedName, PreparedName + "/" + archiveDir, PreparedName + "/" + indexDir} {
		if err := durable.Folder(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget: %w", err)
		}
	}
	// The prepared files must be there before the ledger says that they are in place.
	for _, f := range j.Files {
		if err := j.prepared(ctx, d, f); err != nil {
			return err
		}
	}
	err := d.do("tell", ledgerDir, func() error { return j.tell(ctx, d, e) })
	if err != nil {
		return err
	}
	for _, f := range j.Files {
		if !d.there(PreparedName + "/" + f.Name) {
			continue // in its place already
		}
		if err := d.folder(path.Dir(f.Name)); err != nil {
			return err
		}
		if err := d.place(f.Name); err != nil {
			return err
		}
	}
	if err := j.dropOriginals(d); err != nil {
		return err
	}
	if j.Extent == ledger.ExtentAll {
		err := d.do("forget lines in", ledgerDir, func() error {
			return errors.Join(ledger.Forget(d.path(ledgerDir), j.Entries), ledger.ForgetHosts(d.path(ledgerDir), j.Hosts))
		})
		if err != nil {
			return err
		}
	}
	for _, name := range j.Remove {
		if err := d.remove(name); err != nil {
			return err
		}
	}
	if err := d.sweep(); err != nil {
		return err
	}
	return d.remove(PreparedName)
}

// prepared makes sure that a file is prepared, or in its place already, as the journal has it.
func (j *Journal) prepared(ctx context.Context, d *disk, f ledger.RedactedFile) error {
	for _, name := range []string{PreparedName + "/" + f.Name, f.Name} {
		is, err := d.sum(ctx, name)
		if err != nil {
			return fmt.Errorf("forget: %w", err)
		}
		if is == f.SHA256 {
			return nil
		}
		if is != "" && is != f.Before {
			return fmt.Errorf("redact: %s changed since this redaction started: restore it, and repeat the command", d.path(name))
		}
	}
	return fmt.Errorf("forget: %s is gone, which %s names: put it back, and run the command again",
		d.path(PreparedName+"/"+f.Name), d.path(JournalName))
}

// tell puts the mark into the ledger, unless it is there, and a checkpoint behind it.
func (j *Journal) tell(ctx context.Context, d *disk, e Ending) (err error) {
	told, err := j.told(ctx, d)
	if err != nil {
		return err
	}
	w, err := e.Ledger()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	if told {
		return nil
	}
	if err := w.Begin(ctx); err != nil { // its mark says whose key signs
		return err
	}
	return w.Redact(ctx, ledger.Redaction{Extent: j.Extent, Reason: j.Reason, Subject: j.Digest, Records: j.Records,
		Entries: j.Entries, Files: j.Files})
}

// told reports whether the ledger has all marks of this journal. A kill may have left some of them: then all are
// written again, which says nothing else.
func (j *Journal) told(ctx context.Context, d *disk) (bool, error) {
	m, err := Marks(ctx, d.dir)
	if err != nil {
		return false, err
	}
	for _, one := range m.All {
		if one.Subject == j.Digest {
			return len(one.Records) >= len(j.Records) && len(one.Entries) >= len(j.Entries) && len(one.Files) >= len(j.Files), nil
		}
	}
	return false, nil
}

// dropOriginals has no later answer kept as a repeat of one that went.
func (j *Journal) dropOriginals(d *disk) error {
	if len(j.Records) == 0 || !d.there(indexDir) {
		return nil
	}
	gone := map[string]bool{}
	for _, r := range j.Records {
		gone[r.ID] = true
	}
	return d.do("forget originals in", indexDir, func() error {
		return cdxj.DropOriginals(d.path(indexDir), func(id string) bool { return gone[id] })
	})
}

// sweep removes drafts of the journal, which name the subject.
func (d *disk) sweep() error {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		return fmt.Errorf("forget: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+JournalName+".") && e.Type().IsRegular() {
			if err := d.remove(e.Name()); err != nil {
				return err
			}
		}
	}
	return durable.Names(d.dir)
}
