package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"curtsy/frontier/durable"
	"curtsy/storage/warc"
)

const (
	maxInfo       = 64 << 10 // bytes of a warcinfo record that are read
	maxIdentities = 8
)

// readInfos reads the warcinfo record of each segment in dir, and keeps those that say something new.
func (r *Report) readInfos(ctx context.Context, dir string) error {
	r.Crawl.By = []Identity{}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		r.Remarks = append(r.Remarks, "The ledger has no archive with it, so the operator is unknown.")
		return nil
	}
	if err != nil {
		return fmt.Errorf("report: read the archive: %w", err)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name := strings.TrimSuffix(e.Name(), ".open"); !strings.HasSuffix(name, ".warc.gz") || e.IsDir() {
			continue
		}
		id, err := ReadIdentity(filepath.Join(dir, e.Name()))
		if err != nil {
			if len(r.Damage) < maxDamage {
				r.Damage = append(r.Damage, clean(err.Error()))
			}
			continue
		}
		if id != nil {
			r.Crawl.Generations = max(r.Crawl.Generations, id.Generation)
		}
		r.identity(id)
	}
	return nil
}

// identity keeps id if it differs from the one before.
func (r *Report) identity(id *Identity) {
	by := r.Crawl.By
	if id == nil || len(by) >= maxIdentities {
		return
	}
	if len(by) > 0 {
		before := by[len(by)-1]
		before.Since = id.Since
		if before.Software == id.Software && before.Operator == id.Operator && before.Contact == id.Contact &&
			before.Agent == id.Agent && before.Key == id.Key &&
			before.Robots == id.Robots && before.Purpose == id.Purpose && slices.Equal(before.Fields, id.Fields) {
			return
		}
	}
	r.Crawl.By = append(by, *id)
}

// ReadIdentity reads the first record of a segment; nil if the segment is empty or begins with another.
func ReadIdentity(path string) (*Identity, error) {
	f, err := warc.OpenListed(path, durable.Open)
	if err != nil {
		return nil, fmt.Errorf("report: read the archive: %w", err)
	}
	defer f.Close()
	rec, err := warc.NewReader(f).Next()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || err == nil && rec.Type != "warcinfo" {
		return nil, nil // a segment that was begun a moment ago may hold a part of it
	}
	if err != nil {
		return nil, fmt.Errorf("report: read the archive: %s: %w", filepath.Base(path), err)
	}
	b, err := io.ReadAll(io.LimitReader(rec.Block, maxInfo))
	if err != nil {
		return nil, fmt.Errorf("report: read the archive: %s: %w", filepath.Base(path), err)
	}
	id := infoOf(b)
	id.Since, id.SHA256 = clean(rec.Fields.Get("WARC-Date")), sha256.Sum256(b)
	return id, nil
}

// infoOf reads the block of a warcinfo record (application/warc-fields).
func infoOf(block []byte) *Identity {
	id := &Identity{}
	for line := range bytes.SplitSeq(block, []byte("\n")) {
		name, value, ok := strings.Cut(strings.TrimRight(string(line), "\r"), ":")
		if !ok {
			continue
		}
		value = clean(strings.TrimSpace(value))
		switch strings.ToLower(name) {
		case "software":
			id.Software = value
		case "operator":
			id.Operator = value
		case "contact":
			id.Contact = value
		case "http-header-user-agent":
			id.Agent = value
		case "robots":
			id.Robots = value
		case "description":
			id.Purpose = value
		case "ledger-key":
			id.Key = value
		case "generation":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && n > 0 {
				id.Generation = n
			}
		case "format", "conformsto", "ispartof", "run-began": // of the file, or of its run
		default:
			if len(id.Fields) < 50 {
				id.Fields = append(id.Fields, Setting{Name: clean(name), Value: value})
			}
		}
	}
	if id.Contact == "" { // the User-Agent has it, too
		if _, rest, ok := strings.Cut(id.Agent, "(+"); ok {
			id.Contact, _, _ = strings.Cut(rest, ")")
		}
	}
	if id.Operator == id.Contact {
		id.Operator = ""
	}
	id.Operator = strings.TrimSuffix(id.Operator, " ("+id.Contact+")")
	id.ContactLink = linkTo(id.Contact)
	return id
}

// linkTo is where a contact leads: only a web address or a mailbox is one.
func linkTo(contact string) string {
	u, err := url.Parse(contact)
	switch {
	case err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return u.String()
	case err == nil && u.Scheme == "" && strings.Count(contact, "@") == 1 &&
		!strings.ContainsAny(contact, " \"'<>?&,;:/\\%"):
		return "mailto:" + contact
	}
	return ""
}
