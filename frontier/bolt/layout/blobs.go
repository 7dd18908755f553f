package layout

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"go.etcd.io/bbolt"

	"curtsy/frontier"
)

// Blob is a body with its digest.
type Blob struct {
	Sum  [sha256.Size]byte
	Body []byte
}

// MakeBlobs copies bodies.
func MakeBlobs(bodies [][]byte) []Blob {
	var bs []Blob
	for _, b := range bodies {
		bs = append(bs, Blob{Sum: sha256.Sum256(b), Body: bytes.Clone(b)})
	}
	return bs
}

// WriteBlobs puts bodies into their bucket unless they are there: the digest and 0, 1, 2, … are the keys of their
// pieces. The first begins with the length, so that an empty body has a piece, and no piece can be missing unseen.
// The keys are random; short values keep what an insertion rewrites short.
func WriteBlobs(tx *bbolt.Tx, blobs []Blob) error {
	bucket := tx.Bucket([]byte(BlobBucket))
	for _, b := range blobs {
		if bucket.Get(PieceKey(b.Sum, 0)) != nil {
			continue
		}
		rest := append(binary.AppendUvarint(nil, uint64(len(b.Body))), b.Body...)
		for i := uint16(0); len(rest) > 0; i++ {
			n := min(len(rest), ValueSize)
			key := PieceKey(b.Sum, i)
			if err := bucket.Put(key, sealFor(BlobBucket, key, rest[:n])); err != nil {
				return fmt.Errorf("keep blob %x: %w", b.Sum[:4], err)
			}
			rest = rest[n:]
		}
	}
	return nil
}

// MaxBlob is what the numbers of pieces suffice for.
const MaxBlob = (1<<16 - 1) * ValueSize

// PieceKey returns the key of a piece.
func PieceKey(sum [sha256.Size]byte, i uint16) []byte {
	return binary.BigEndian.AppendUint16(sum[:], i)
}

// ReadBlob returns a body, nil when it is not there.
func ReadBlob(tx *bbolt.Tx, sum [sha256.Size]byte) ([]byte, error) {
	bucket := tx.Bucket([]byte(BlobBucket))
	piece := func(i uint16) []byte {
		key := PieceKey(sum, i)
		body, _ := unsealFor(BlobBucket, key, bucket.Get(key))
		return body
	}
	if bucket.Get(PieceKey(sum, 0)) == nil {
		return nil, nil
	}
	joined := bytes.Clone(piece(0))
	p := parser{b: joined}
	n := p.uvarint()
	have := uint64(len(p.b))
	for i := uint16(1); have < n; i++ {
		b := piece(i)
		if len(b) == 0 {
			break
		}
		joined = append(joined, b...)
		have += uint64(len(b))
	}
	body, ok := JoinBlob(joined, sum)
	if !ok {
		return nil, fmt.Errorf("read blob %x: %w", sum[:4], frontier.ErrDamaged)
	}
	return body, nil
}

// JoinBlob returns the body that the pieces, one behind the other, hold; ok is false when it is not the one with that
// digest.
func JoinBlob(pieces []byte, sum [sha256.Size]byte) (body []byte, ok bool) {
	p := parser{b: pieces}
	p.uvarint() // the length: the digest says as much
	return p.b, !p.bad && sha256.Sum256(p.b) == sum
}
