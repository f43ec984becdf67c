PRAGMA application_id = 1651471220;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
CREATE TABLE studies (
        id        INTEGER PRIMARY KEY,
        name      TEXT NOT NULL UNIQUE,
        domain    TEXT NOT NULL,          -- JSON: the search space
        method    TEXT NOT NULL,          -- JSON: name, searcher, settings
        seed      TEXT NOT NULL,          -- decimal: may exceed 64 bits
        direction TEXT NOT NULL CHECK (direction IN ('minimize', 'maximize')),
        initial   TEXT NOT NULL,          -- JSON: the user's own first points
        state     TEXT NOT NULL,          -- JSON: what the searcher needs at the next ask
        created   REAL NOT NULL,          -- seconds since the epoch
        version   TEXT NOT NULL           -- of bostruct, when created
    );
INSERT INTO "studies" VALUES(1,'s','{"domain": "space", "variables": {"a": {"kind": "Categorical", "choices": ["x", "y", "z"]}, "o": {"kind": "Ordinal", "choices": [1, 2, 4, 8, 16]}, "i": {"kind": "Integer", "low": 0, "high": 9}, "b": {"kind": "Binary"}, "g": {"kind": "Graph", "choices": [0, 1, 2, 3], "edges": [[0, 1, 1.0], [0, 3, 1.0], [1, 2, 1.0], [2, 3, 1.0]]}}, "constraints": 0}','{"name": "auto", "searcher": "BayesianSearch", "settings": {"surrogate": {"part": "Tempered", "surrogate": {"part": "ModeGP", "kernel": {"part": "Blend", "first": {"part": "MainEffects", "graphs": "tuple"}, "second": {"part": "DiffusionKernel", "graphs": "tuple", "prior": {"part": "Normal", "mean": -0.78106748141, "sd": 0.7}, "link": {"part": "LogLengthscale", "name": "log_lengthscale"}, "initial": -0.78106748141, "unit_diagonal": true}, "prior": {"part": "Normal", "mean": 0.4, "sd": 1.0}, "initial": 0.4}, "join": "Space.join", "noise_prior": {"part": "Normal", "mean": -5.0, "sd": 1.0}, "initial_log_noise": -5.0, "most_steps": 60}, "beyond": 3.0}, "acquisition": {"part": "LogExpectedImprovement"}, "maximizer": {"part": "LocalSearch", "random": 2000, "spray": 1000, "ascents": 10, "leaps": true, "most": 400000}, "n_initial": 10, "n_starts": 5, "incumbent": "best_predicted", "feasibility": {"part": "ModeGP", "kernel": {"part": "Blend", "first": {"part": "MainEffects", "graphs": "tuple"}, "second": {"part": "DiffusionKernel", "graphs": "tuple", "prior": {"part": "Normal", "mean": -0.78106748141, "sd": 0.7}, "link": {"part": "LogLengthscale", "name": "log_lengthscale"}, "initial": -0.78106748141, "unit_diagonal": true}, "prior": {"part": "Normal", "mean": 0.4, "sd": 1.0}, "initial": 0.4}, "join": "Space.join", "noise_prior": {"part": "Normal", "mean": -5.0, "sd": 1.0}, "initial_log_noise": -5.0, "most_steps": 60}, "design": "drawn", "surroundings": "neighboring"}}','3','minimize','[]','{"surrogate": [-4.986935872115294, -0.8810540545770364, -0.9339173318713101, -0.8517821037538301, -0.8559577188896625, -1.1401045201919893, -0.4326490039101831]}',1.79530478263809967036e+09,'0.1.0');
CREATE TABLE trials (
        id       INTEGER PRIMARY KEY,
        study    INTEGER NOT NULL REFERENCES studies (id),
        number   INTEGER NOT NULL,
        status   TEXT NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'infeasible')),
        point    TEXT NOT NULL,           -- JSON
        value    REAL,                    -- in the user's direction; NULL unless completed
        reason   TEXT,                    -- NULL unless failed or infeasible
        info     TEXT NOT NULL,           -- JSON: how it was chosen, what that cost
        started  REAL NOT NULL,           -- seconds since the epoch
        finished REAL,
        told     INTEGER,                 -- position in the order of telling, from 0
        attempts INTEGER NOT NULL,        -- times handed out, less the times taken back in good order
        UNIQUE (study, number)
    );
INSERT INTO "trials" VALUES(1,1,0,'completed','{"a": "y", "o": 4, "i": 1, "b": false, "g": 1}',96.436,NULL,'{"origin": "initial", "suggest_seconds": 0.0005173770000510558}',1.7953047826451642514e+09,1.79530478264637374874e+09,0,1);
INSERT INTO "trials" VALUES(2,1,1,'completed','{"a": "z", "o": 1, "i": 1, "b": true, "g": 2}',15.728,NULL,'{"origin": "initial", "suggest_seconds": 0.00035978599998998106}',1.79530478264761590963e+09,1.7953047826483671665e+09,1,1);
INSERT INTO "trials" VALUES(3,1,2,'completed','{"a": "z", "o": 1, "i": 4, "b": false, "g": 3}',74.26,NULL,'{"origin": "initial", "suggest_seconds": 0.0003218819999801781}',1.79530478264953804014e+09,1.79530478265020871165e+09,2,1);
INSERT INTO "trials" VALUES(4,1,3,'completed','{"a": "y", "o": 2, "i": 0, "b": true, "g": 0}',64.606,NULL,'{"origin": "initial", "suggest_seconds": 0.0003109900000026755}',1.79530478265119576453e+09,1.79530478265188837049e+09,3,1);
INSERT INTO "trials" VALUES(5,1,4,'completed','{"a": "z", "o": 8, "i": 3, "b": false, "g": 2}',99.731,NULL,'{"origin": "initial", "suggest_seconds": 0.00028554400000757596}',1.79530478265283823012e+09,1.79530478265352034573e+09,4,1);
INSERT INTO "trials" VALUES(6,1,5,'completed','{"a": "z", "o": 16, "i": 0, "b": true, "g": 0}',59.225,NULL,'{"origin": "initial", "suggest_seconds": 0.00028325200003109785}',1.79530478265450215338e+09,1.79530478265527486804e+09,5,1);
INSERT INTO "trials" VALUES(7,1,6,'failed','{"a": "z", "o": 2, "i": 8, "b": false, "g": 1}',NULL,'no memory','{"origin": "initial", "suggest_seconds": 0.00029602500001146836}',1.79530478265622663505e+09,1.79530478265682744976e+09,6,1);
INSERT INTO "trials" VALUES(8,1,7,'completed','{"a": "y", "o": 16, "i": 6, "b": false, "g": 1}',46.894,NULL,'{"origin": "initial", "suggest_seconds": 0.00027178100003766303}',1.79530478265774726866e+09,1.79530478265839505197e+09,7,1);
INSERT INTO "trials" VALUES(9,1,8,'completed','{"a": "y", "o": 2, "i": 5, "b": false, "g": 3}',59.872,NULL,'{"origin": "initial", "suggest_seconds": 0.0002860619999864866}',1.79530478265938425071e+09,1795304782.66006,8,1);
INSERT INTO "trials" VALUES(10,1,9,'completed','{"a": "x", "o": 2, "i": 4, "b": true, "g": 0}',6.346,NULL,'{"origin": "initial", "suggest_seconds": 0.00027686699991136265}',1.79530478266101598742e+09,1.79530478266163778301e+09,9,1);
INSERT INTO "trials" VALUES(11,1,10,'completed','{"a": "x", "o": 1, "i": 7, "b": true, "g": 0}',11.582,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 10, "log_posterior": -13.017474399581726, "largest_jitter": 0.0, "noise": 0.006804573375778451, "candidates": 2041, "steps": 3, "best_score": 2.526519983086561, "suggest_seconds": 0.060952293000013924}',1.79530478272349476812e+09,1.79530478272471356393e+09,10,1);
INSERT INTO "trials" VALUES(12,1,11,'completed','{"a": "x", "o": 1, "i": 5, "b": true, "g": 1}',64.961,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 11, "log_posterior": -13.130640250330071, "largest_jitter": 0.0, "noise": 0.006768933712118958, "candidates": 2040, "steps": 2, "best_score": 1.8314165988684368, "suggest_seconds": 0.05683278000003611}',1.795304782782510519e+09,1.79530478278367471695e+09,11,1);
INSERT INTO "trials" VALUES(13,1,12,'running','{"a": "x", "o": 4, "i": 6, "b": true, "g": 0}',NULL,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 14, "log_posterior": -15.772231964714585, "largest_jitter": 0.0, "noise": 0.006827402359535823, "candidates": 2040, "steps": 2, "best_score": 1.3970233107250802, "suggest_seconds": 0.056233015999964664}',1.79530478284094595908e+09,NULL,NULL,0);
INSERT INTO "trials" VALUES(14,1,13,'completed','{"a": "x", "o": 1, "i": 9, "b": true, "g": 3}',62.462,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 4, "log_posterior": -15.77223195858458, "largest_jitter": 0.0, "noise": 0.006826549900014452, "candidates": 2040, "steps": 2, "best_score": 0.9919896070664865, "suggest_seconds": 0.040123112999935984}',1.79530478288271784785e+09,1.79530478288395023344e+09,12,1);
COMMIT;
