package wire

// AppendBody implements Body.
func (*Pull) AppendBody(b []byte) ([]byte, error) { return append(b, 0xa0), nil }

// ParseBody implements Body.
func (*Pull) ParseBody(b []byte) error {
	return Parse(b, func(p *Parser, _ uint64) error { return p.Skip() })
}

// AppendBody implements Body.
func (m *Started) AppendBody(b []byte) ([]byte, error) {
	f := NewFields(b)
	f.Int(1, m.Group)
	return f.B, nil
}

// ParseBody implements Body.
func (m *Started) ParseBody(b []byte) error {
	return Parse(b, func(p *Parser, key uint64) error {
		if key == 1 {
			return p.Int64(&m.Group)
		}
		return p.Skip()
	})
}

// AppendBody implements Body.
func (m *Ack) AppendBody(b []byte) ([]byte, error) {
	f := NewFields(b)
	f.ID(1, &m.ID)
	return f.B, nil
}

// ParseBody implements Body.
func (m *Ack) ParseBody(b []byte) error {
	return Parse(b, func(p *Parser, key uint64) error {
		if key == 1 {
			return p.ID(&m.ID)
		}
		return p.Skip()
	})
}

// AppendBody implements Body.
func (m *Result) AppendBody(b []byte) ([]byte, error) {
	f := NewFields(b)
	f.BytesAlways(1, m.Data)
	f.Bool(2, m.More)
	return f.B, nil
}

// ParseBody implements Body.
func (m *Result) ParseBody(b []byte) error {
	return Parse(b, func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.Bytes(&m.Data)
		case 2:
			return p.Bool(&m.More)
		}
		return p.Skip()
	})
}

// AppendBody implements Body.
func (m *Task) AppendBody(b []byte) ([]byte, error) {
	f := NewFields(b)
	f.ID(1, &m.ID)
	f.TextAlways(2, m.Module)
	if err := f.dict(3, m.Args.Dict); err != nil {
		return nil, err
	}
	if err := f.dict(4, m.Options.Dict); err != nil {
		return nil, err
	}
	if m.Python != nil {
		f.key(5)
		f.B = m.Python.append(f.B)
	}
	f.Bool(6, m.Native)
	if m.Become != nil {
		f.key(7)
		f.B = m.Become.append(f.B)
	}
	f.vars(8, m.Environment)
	f.Bool(9, m.Check)
	f.Bool(10, m.Diff)
	f.Int(11, m.Timeout)
	if len(m.Files) > 0 {
		f.key(12)
		f.B = appendHead(f.B, 4, uint64(len(m.Files)))
		for i := range m.Files {
			f.B = m.Files[i].append(f.B)
		}
	}
	f.Int(13, m.Async)
	f.Text(14, m.JobID)
	f.Bool(15, m.Live)
	if m.Then != nil {
		f.key(16)
		return m.Then.append(f.B)
	}
	return f.B, nil
}

// ParseBody implements Body.
func (m *Task) ParseBody(b []byte) error {
	return Parse(b, func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.ID(&m.ID)
		case 2:
			return p.Text(&m.Module)
		case 3:
			return p.dict(&m.Args)
		case 4:
			return p.dict(&m.Options)
		case 5:
			if p.null() {
				return nil
			}
			m.Python = new(Python)
			return m.Python.parse(p)
		case 6:
			return p.Bool(&m.Native)
		case 7:
			if p.null() {
				return nil
			}
			m.Become = new(Become)
			return m.Become.parse(p)
		case 8:
			return p.vars(&m.Environment)
		case 9:
			return p.Bool(&m.Check)
		case 10:
			return p.Bool(&m.Diff)
		case 11:
			return p.Int64(&m.Timeout)
		case 12:
			return p.list(func(p *Parser) error {
				var file TaskFile
				err := file.parse(p)
				m.Files = append(m.Files, file)
				return err
			})
		case 13:
			return p.Int64(&m.Async)
		case 14:
			return p.Text(&m.JobID)
		case 15:
			return p.Bool(&m.Live)
		case 16:
			if p.null() {
				return nil
			}
			m.Then = new(Then)
			return m.Then.parse(p)
		}
		return p.Skip()
	})
}

func (t *Then) append(b []byte) ([]byte, error) {
	f := NewFields(b)
	f.Text(1, t.Checksum)
	for i, d := range []Dict{t.Same, t.Differs} {
		if d.Dict == nil {
			continue
		}
		if err := f.dict(byte(2+i), d.Dict); err != nil {
			return nil, err
		}
	}
	if t.File != nil {
		f.key(4)
		f.B = t.File.append(f.B)
	}
	return f.B, nil
}

func (t *Then) parse(p *Parser) error {
	return p.Object(func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.Text(&t.Checksum)
		case 2:
			return p.dict(&t.Same)
		case 3:
			return p.dict(&t.Differs)
		case 4:
			if p.null() {
				return nil
			}
			t.File = new(TaskFile)
			return t.File.parse(p)
		}
		return p.Skip()
	})
}

func (f *TaskFile) append(b []byte) []byte {
	w := NewFields(b)
	w.TextAlways(1, f.Arg)
	w.Text(2, f.Suffix)
	w.Hash(3, &f.Hash)
	w.IntAlways(4, f.Size)
	return w.B
}

func (f *TaskFile) parse(p *Parser) error {
	return p.Object(func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.Text(&f.Arg)
		case 2:
			return p.Text(&f.Suffix)
		case 3:
			return p.hash(&f.Hash)
		case 4:
			return p.Int64(&f.Size)
		}
		return p.Skip()
	})
}

func (y *Python) append(b []byte) []byte {
	f := NewFields(b)
	f.Hash(1, &y.Base)
	f.Hash(2, &y.Extra)
	f.TextAlways(3, y.FQN)
	f.TextAlways(4, y.File)
	f.IntAlways(5, int64(y.Style))
	f.Text(6, y.Shebang)
	f.Text(7, y.Core)
	f.Text(8, y.Interpreter)
	f.texts(9, y.Fallback)
	f.vars(10, y.Overrides)
	f.Int(11, y.NoFile)
	return f.B
}

func (y *Python) parse(p *Parser) error {
	return p.Object(func(p *Parser, key uint64) (err error) {
		switch key {
		case 1:
			return p.hash(&y.Base)
		case 2:
			return p.hash(&y.Extra)
		case 3:
			return p.Text(&y.FQN)
		case 4:
			return p.Text(&y.File)
		case 5:
			y.Style, err = p.uint8()
			return err
		case 6:
			return p.Text(&y.Shebang)
		case 7:
			return p.Text(&y.Core)
		case 8:
			return p.Text(&y.Interpreter)
		case 9:
			return p.texts(&y.Fallback)
		case 10:
			return p.vars(&y.Overrides)
		case 11:
			return p.Int64(&y.NoFile)
		}
		return p.Skip()
	})
}

func (m *Become) append(b []byte) []byte {
	f := NewFields(b)
	f.Text(1, m.Method)
	f.Text(2, m.User)
	f.Text(3, m.Exe)
	if m.Flags != nil {
		f.TextAlways(4, *m.Flags)
	}
	f.Text(5, m.Password)
	f.Text(6, m.Chdir)
	f.texts(7, m.Prompts)
	f.Bool(8, m.Wrap)
	f.Int(9, m.Timeout)
	return f.B
}

func (m *Become) parse(p *Parser) error {
	return p.Object(func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.Text(&m.Method)
		case 2:
			return p.Text(&m.User)
		case 3:
			return p.Text(&m.Exe)
		case 4:
			if p.null() {
				return nil
			}
			m.Flags = new(string)
			return p.Text(m.Flags)
		case 5:
			return p.Text(&m.Password)
		case 6:
			return p.Text(&m.Chdir)
		case 7:
			return p.texts(&m.Prompts)
		case 8:
			return p.Bool(&m.Wrap)
		case 9:
			return p.Int64(&m.Timeout)
		}
		return p.Skip()
	})
}

// AppendBody implements Body.
func (m *Outcome) AppendBody(b []byte) ([]byte, error) {
	f := NewFields(b)
	if err := f.dict(1, m.Result.Dict); err != nil {
		return nil, err
	}
	f.Text(2, m.Path)
	if m.Timings != (Timings{}) {
		f.key(3)
		f.B = m.Timings.append(f.B)
	}
	if m.Fault != nil {
		f.key(4)
		f.B = m.Fault.append(f.B)
	}
	if m.Found != nil {
		f.key(5)
		f.B = m.Found.append(f.B)
	}
	f.Text(6, m.Became)
	if m.Then.Dict != nil {
		if err := f.dict(7, m.Then.Dict); err != nil {
			return nil, err
		}
	}
	return f.B, nil
}

// ParseBody implements Body.
func (m *Outcome) ParseBody(b []byte) error { return m.parse(b, true) }

// ParseHead reads an outcome but for its result, which is only walked through.
func (m *Outcome) ParseHead(b []byte) error { return m.parse(b, false) }

func (m *Outcome) parse(b []byte, whole bool) error {
	return Parse(b, func(p *Parser, key uint64) error {
		switch {
		case key == 1 && whole:
			return p.dict(&m.Result)
		case key == 2:
			return p.Text(&m.Path)
		case key == 3:
			return m.Timings.parse(p)
		case key == 4 && !p.null():
			m.Fault = new(Fault)
			return m.Fault.parse(p)
		case key == 5 && !p.null():
			m.Found = new(Interpreter)
			return m.Found.parse(p)
		case key == 4, key == 5:
			return nil
		case key == 6:
			return p.Text(&m.Became)
		case key == 7 && whole:
			return p.dict(&m.Then)
		}
		return p.Skip()
	})
}

func (t *Timings) append(b []byte) []byte {
	f := NewFields(b)
	f.Int(1, t.Stage)
	f.Int(2, t.Queue)
	f.Int(3, t.Work)
	return f.B
}

func (t *Timings) parse(p *Parser) error {
	return p.Object(func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.Int64(&t.Stage)
		case 2:
			return p.Int64(&t.Queue)
		case 3:
			return p.Int64(&t.Work)
		}
		return p.Skip()
	})
}

func (f *Fault) append(b []byte) []byte {
	w := NewFields(b)
	w.IntAlways(1, int64(f.Code))
	w.TextAlways(2, f.Text)
	w.Bool(3, f.Started)
	return w.B
}

func (f *Fault) parse(p *Parser) error {
	return p.Object(func(p *Parser, key uint64) error {
		switch key {
		case 1:
			code, err := p.uint8()
			f.Code = FaultCode(code)
			return err
		case 2:
			return p.Text(&f.Text)
		case 3:
			return p.Bool(&f.Started)
		}
		return p.Skip()
	})
}

func (i *Interpreter) append(b []byte) []byte {
	f := NewFields(b)
	f.TextAlways(1, i.Path)
	f.texts(2, i.Warnings)
	f.Bool(3, i.Absent)
	return f.B
}

func (i *Interpreter) parse(p *Parser) error {
	return p.Object(func(p *Parser, key uint64) error {
		switch key {
		case 1:
			return p.Text(&i.Path)
		case 2:
			return p.texts(&i.Warnings)
		case 3:
			return p.Bool(&i.Absent)
		}
		return p.Skip()
	})
}
