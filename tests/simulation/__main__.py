from simulation.command import main, prepare_process

prepare_process()
raise SystemExit(main())
