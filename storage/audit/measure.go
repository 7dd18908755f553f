package audit

// ours reports whether the archive being read says that this crawler made it.
func (a *audit) ours() bool { return a.info != nil && a.info.Ours }

// strict reports whether the archive being read is held to this crawler's promises.
func (a *audit) strict() bool { return a.ours() || a.o.Strict }
