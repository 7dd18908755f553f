package layout

import (
	"encoding/binary"
)

// Recognise returns the bucket that a value belongs to, by nothing but its key and its checksum: a journal, the blobs,
// or the meta bucket, of which the format number, the secret, the totals and the number of openings are recognised.
// Format numbers have no checksum; one of them is believed only when there is no better.
func Recognise(key, v []byte) (bucket string, ok bool) {
	if len(v) < 4 {
		return "", false
	}
	switch len(key) {
	case 8:
		for _, j := range Journals() {
			if _, ok := unsealFor(string(j), key, v); ok {
				return string(j), true
			}
		}
		return "", false
	case 34:
		_, ok = unsealFor(BlobBucket, key, v)
		return BlobBucket, ok
	}
	switch string(key) {
	case FormatKey:
		ok = len(v) == 4
	case SecretKey:
		_, ok = unseal(v)
		ok = ok && len(v) == 36
	case TotalsKey:
		_, ok = unseal(v)
	case EpochKey:
		_, ok = unsealFor(MetaBucket, key, v)
		ok = ok && len(v) == 12
	}
	return MetaBucket, ok
}

// SumOf returns the checksum of a value.
func SumOf(v []byte) uint32 { return binary.BigEndian.Uint32(v[len(v)-4:]) }
