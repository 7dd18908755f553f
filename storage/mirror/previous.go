package mirror

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"

	"curtsy/storage/warc"
)

// previous is what is known of the tree before: of which record each of its files is.
type previous struct {
	dir     string // "" if there is none, or nothing can be made of it
	seed    maphash.Seed
	records map[uint64]uint64 // by hashes of the file's name and of what tells the record
}

// readPrevious reads the map of the tree before. A map that cannot be read is no obstacle: the tree is derived, and
// then only documents are shared with it, whose bytes are compared.
func readPrevious(dir string, notes *[]string) *previous {
	b := &previous{dir: dir, seed: maphash.MakeSeed(), records: map[uint64]uint64{}}
	for e, err := range Map(dir) {
		if err != nil {
			if !errors.Is(err, fs.ErrNotExist) && len(*notes) < maxNotes {
				*notes = append(*notes, fmt.Sprintf("the mirror before is not taken into account: %v", err))
			}
			return &previous{seed: b.seed}
		}
		if e.Redirect != "" || e.File == "" {
			continue
		}
		file := maphash.String(b.seed, e.File)
		if _, has := b.records[file]; !has || e.Size > 0 { // the line with a size is that of the file's owner
			b.records[file] = b.record(e.Record, e.Digest)
		}
	}
	return b
}

// record tells records apart: by their ids and, since archives of others may have an id twice, their digests.
func (b *previous) record(id, digest string) uint64 {
	return maphash.String(b.seed, id+"\n"+digest)
}

// has reports whether a file of the tree before is of this record. Without a digest nobody knows.
func (b *previous) has(file string, rec *warc.Record) bool {
	digest := rec.Fields.Get("WARC-Payload-Digest")
	was, ok := b.records[maphash.String(b.seed, file)]
	return ok && digest != "" && was == b.record(rec.ID(), digest)
}
