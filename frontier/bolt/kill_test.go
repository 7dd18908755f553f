package bolt

// kill ends f as a kill of the process would: nothing is committed, and the stop is unclean.
func (f *Frontier) kill() {
	f.mu.Lock()
	f.closed = true
	f.waiting.wakeAll()
	f.mu.Unlock()
	f.writer.stop()
	<-f.writer.stopped
	f.db.Close()
}
