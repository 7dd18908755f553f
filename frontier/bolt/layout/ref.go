package layout

// Ref says where the text of a URL is: the record, and the place in it. References grow in the order of acceptance,
// so that a host's URLs are in breadth-first order when they are in the order of their references. Zero is none,
// since records are numbered from 1.
type Ref uint64

const (
	placeBits = 7
	MaxPlaces = 1 << placeBits // entries of a record at most
	refBits   = 52             // of a packed ending
)

func MakeRef(record uint64, place int) Ref { return Ref(record<<placeBits | uint64(place)) }

func (r Ref) Record() uint64 { return uint64(r) >> placeBits }
func (r Ref) Place() int     { return int(r & (MaxPlaces - 1)) }
