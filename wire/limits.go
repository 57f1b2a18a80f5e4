package wire

// What is believed of the other side: every length, depth and count is checked
// against these before anything is allocated for it.
const (
	MaxFrame      = 16 << 20 // bytes of one frame
	MaxChunk      = 1 << 20  // bytes of one piece of a result, blob or file
	MaxResult     = 64 << 20 // bytes of one encoded outcome, default of max_result
	MaxDepth      = 128      // nesting of a value
	MaxElements   = 4 << 20  // values in one encoded value, all levels together
	MaxWant       = 16384    // hashes in one Want
	MaxFiles      = 4096     // files staged for one sub-task
	MaxText       = 16 << 10 // bytes of a free text field
	MaxSlots      = 256      // slots on one link
	IdleSlots     = 2        // slots kept waiting
	MaxBlob       = 1 << 50  // bytes of a blob; the configured limit is lower
	SessionKeyLen = 32
)
