package repair

import (
	"encoding/binary"

	"curtsy/frontier/bolt/dbfile"
	"curtsy/frontier/bolt/layout"
)

// page looks at b, which is at that place of the file, as a leaf. A page can hold a small bucket whole, in a value.
func (s *scan) page(at int64, b []byte, of owner, level int) {
	count := 0 // of the elements that must be values
	if len(b) >= dbfile.HeaderSize && of > another && binary.NativeEndian.Uint16(b[8:]) == dbfile.Leaf {
		count = int(binary.NativeEndian.Uint16(b[10:]))
	}
	slots, sound := s.slots(at, b, level)
	for i := 0; i < max(slots, count) && dbfile.HeaderSize+(i+1)*dbfile.ElementSize <= len(b); i++ {
		from := dbfile.HeaderSize + i*dbfile.ElementSize
		x := dbfile.ParseElement(b[from:])
		if x.Flags > dbfile.Bucket || x.Key == 0 || x.Key > 34 || x.Value > maxValue || x.Pos > 1<<30 {
			s.spoilt(i < count)
			continue
		}
		start, n := from+int(x.Pos), int(x.Key+x.Value)
		kv := []byte(nil)
		if start+n <= len(b) {
			kv = b[start : start+n]
		} else if kv = s.read(at+int64(start), n); kv == nil {
			s.spoilt(i < count)
			continue
		}
		k, v := kv[:x.Key:x.Key], kv[x.Key:]
		place := found{at: at + int64(start) + int64(x.Key), n: len(v), live: of != nobody}
		if x.Flags == dbfile.Bucket {
			if len(v) > 16+dbfile.HeaderSize && level == 0 {
				inner := nobody
				if of != nobody {
					inner = ownerOf(string(k))
				}
				s.page(place.at+16, v[16:], inner, 1)
			}
			continue
		}
		is := s.element(k, v, place)
		s.spoilt(!is && i < count)
		if is && sound && level == 0 {
			s.covered = max(s.covered, place.at+int64(place.n))
		}
	}
}

// slots returns how many elements to look for in a page, and whether its head is sound. In a sound one only the
// elements that it counts are looked at: what is behind them are values, and in a value a site could have put what
// looks like an element. In a spoilt one all are that there may be.
func (s *scan) slots(at int64, b []byte, level int) (n int, sound bool) {
	if len(b) < dbfile.HeaderSize+dbfile.ElementSize {
		return 0, false
	}
	order := binary.NativeEndian
	id, flags, count := order.Uint64(b), order.Uint16(b[8:]), int(order.Uint16(b[10:]))
	if level == 0 && id != uint64(at/s.pageSize) {
		return len(b) / dbfile.ElementSize, false
	}
	switch {
	case flags == dbfile.Branch:
		return 0, true
	case flags == dbfile.Leaf && int(dbfile.ParseElement(b[dbfile.HeaderSize:]).Pos) == count*dbfile.ElementSize:
		// The first value is behind the last element.
		return count, true
	}
	return len(b) / dbfile.ElementSize, false
}

func (s *scan) spoilt(is bool) {
	if is {
		s.salvage.Spoilt++
	}
}

// element notes a value if it proves to be one.
func (s *scan) element(k, v []byte, f found) bool {
	bucket, ok := layout.Recognise(k, v)
	if !ok {
		return false
	}
	f.sum = layout.SumOf(v)
	switch bucket {
	case layout.MetaBucket:
		s.metaElement(string(k), v, f)
	case layout.BlobBucket:
		s.pieces[[34]byte(k)] = better(s.pieces[[34]byte(k)], f)
	default:
		values, seq := s.values[layout.Journal(bucket)], binary.BigEndian.Uint64(k)
		values[seq] = better(values[seq], f)
	}
	return true
}

// metaElement notes a value of the meta bucket.
func (s *scan) metaElement(k string, v []byte, f found) {
	switch k {
	case layout.FormatKey:
		s.formats[binary.BigEndian.Uint32(v)]++
	case layout.SecretKey:
		s.secrets = append(s.secrets, f)
	case layout.TotalsKey:
		s.totals = append(s.totals, f)
	case layout.EpochKey:
		s.epoch = max(s.epoch, binary.BigEndian.Uint64(v))
	}
}

// better returns the one of two finds that counts.
func better(old, f found) found {
	switch {
	case old.n == 0:
		return f
	case old.sum == f.sum && old.n == f.n:
		old.live = old.live || f.live
		return old
	case f.live && !old.live:
		return f
	case old.live && !f.live:
		return old
	}
	old.disputed = true
	return old
}
