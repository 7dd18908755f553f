package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// blob is a body with its digest.
type blob struct {
	sum  [sha256.Size]byte
	body []byte
}

// makeBlobs copies bodies.
func makeBlobs(bodies [][]byte) []blob {
	var bs []blob
	for _, b := range bodies {
		bs = append(bs, blob{sum: sha256.Sum256(b), body: bytes.Clone(b)})
	}
	return bs
}

// writeBlobs puts bodies into their bucket unless they are there: the digest and 0, 1, 2, … are the keys of their
// pieces. The first begins with the length, so that an empty body has a piece, and no piece can be missing unseen.
// The keys are random; short values keep what an insertion rewrites short.
func writeBlobs(tx *bbolt.Tx, blobs []blob) error {
	bucket := tx.Bucket([]byte(blobBucket))
	for _, b := range blobs {
		if bucket.Get(pieceKey(b.sum, 0)) != nil {
			continue
		}
		rest := append(binary.AppendUvarint(nil, uint64(len(b.body))), b.body...)
		for i := uint16(0); len(rest) > 0; i++ {
			n := min(len(rest), valueSize)
			key := pieceKey(b.sum, i)
			if err := bucket.Put(key, sealFor(blobBucket, key, rest[:n])); err != nil {
				return fmt.Errorf("keep blob %x: %w", b.sum[:4], err)
			}
			rest = rest[n:]
		}
	}
	return nil
}

// maxBlob is what the numbers of pieces suffice for.
const maxBlob = (1<<16 - 1) * valueSize

func pieceKey(sum [sha256.Size]byte, i uint16) []byte {
	return binary.BigEndian.AppendUint16(sum[:], i)
}

// readBlob returns a body, nil when it is not there.
func readBlob(tx *bbolt.Tx, sum [sha256.Size]byte) ([]byte, error) {
	bucket := tx.Bucket([]byte(blobBucket))
	piece := func(i uint16) []byte {
		key := pieceKey(sum, i)
		body, _ := unsealFor(blobBucket, key, bucket.Get(key))
		return body
	}
	if bucket.Get(pieceKey(sum, 0)) == nil {
		return nil, nil
	}
	p := parser{b: piece(0)}
	n := p.uvarint()
	body := append([]byte{}, p.b...)
	for i := uint16(1); uint64(len(body)) < n; i++ {
		b := piece(i)
		if len(b) == 0 {
			break
		}
		body = append(body, b...)
	}
	if p.bad || sha256.Sum256(body) != sum {
		return nil, fmt.Errorf("read blob %x: %w", sum[:4], frontier.ErrDamaged)
	}
	return body, nil
}

// Blob implements frontier.Frontier.
func (f *Frontier) Blob(ctx context.Context, sum [32]byte) ([]byte, error) {
	var later, body []byte // later is not in the file yet
	find := func(g *group) {
		for _, b := range g.blobs {
			if b.sum == sum {
				later = append([]byte{}, b.body...)
			}
		}
	}
	err := f.reading(ctx, func(int64) {
		for _, g := range f.queue {
			find(g)
		}
		if f.open != nil {
			find(f.open)
		}
	}, func(tx *bbolt.Tx) (err error) {
		body, err = readBlob(tx, sum)
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case later != nil:
		return later, nil
	case body == nil:
		return nil, frontier.ErrNoBlob
	}
	return body, nil
}
