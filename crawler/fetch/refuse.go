package fetch

import "net/netip"

// refuse asks Config.Refuse about an address, and about the IPv4 address that it leads to. Its error is a *Failure.
func (f *Fetcher) refuse(a netip.Addr) error {
	if f.c.Refuse == nil || !a.IsValid() { // a proxy alone knows the address
		return nil
	}
	a = a.WithZone("").Unmap()
	err := f.c.Refuse(a)
	for _, e := range embeddings {
		if err == nil && e.prefix.Contains(a) {
			err = f.c.Refuse(e.unwrap(a))
		}
	}
	if err != nil {
		return &Failure{OptOut, err}
	}
	return nil
}
