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
INSERT INTO "studies" VALUES(1,'s','{"domain": "space", "variables": {"a": {"kind": "Categorical", "choices": ["x", "y", "z"]}, "b": {"kind": "Binary"}, "o": {"kind": "Ordinal", "choices": [1, 2, 3, 4]}, "epochs": {"kind": "Fidelity", "choices": [1, 3, 9]}}, "constraints": 0}','{"name": "model-based-hyperband", "searcher": "Hyperband", "settings": {"reduction": 3.0, "halving": false, "costs": [1.0, 3.0, 9.0], "proposals": {"surrogate": {"part": "AtTop", "surrogate": {"part": "Tempered", "surrogate": {"part": "ModeGP", "kernel": {"part": "Blend", "first": {"part": "MainEffects", "graphs": "tuple"}, "second": {"part": "DiffusionKernel", "graphs": "tuple", "prior": {"part": "Normal", "mean": -0.892639257067, "sd": 0.7}, "link": {"part": "LogLengthscale", "name": "log_lengthscale"}, "initial": -0.892639257067, "unit_diagonal": true}, "prior": {"part": "Normal", "mean": 0.4, "sd": 1.0}, "initial": 0.4}, "join": "Space.join", "noise_prior": {"part": "Normal", "mean": -5.0, "sd": 1.0}, "initial_log_noise": -5.0, "most_steps": 60}, "beyond": 3.0}, "raised": "Levels.raised"}, "acquisition": {"part": "LogExpectedImprovement"}, "maximizer": {"part": "LocalSearch", "random": 2000, "spray": 1000, "ascents": 10, "leaps": true, "most": 400000}, "n_initial": 10, "n_starts": 5, "incumbent": "best_predicted", "feasibility": {"part": "ModeGP", "kernel": {"part": "Blend", "first": {"part": "MainEffects", "graphs": "tuple"}, "second": {"part": "DiffusionKernel", "graphs": "tuple", "prior": {"part": "Normal", "mean": -0.892639257067, "sd": 0.7}, "link": {"part": "LogLengthscale", "name": "log_lengthscale"}, "initial": -0.892639257067, "unit_diagonal": true}, "prior": {"part": "Normal", "mean": 0.4, "sd": 1.0}, "initial": 0.4}, "join": "Space.join", "noise_prior": {"part": "Normal", "mean": -5.0, "sd": 1.0}, "initial_log_noise": -5.0, "most_steps": 60}, "design": "drawn", "surroundings": "neighboring"}}}','3','minimize','[]','{"surrogate": [-4.970224446039906, -0.7844449590258319, -0.856675447027558, -1.8179777295391644, -1.037805506497536, -0.9002861039416565]}',1.79530478605396509169e+09,'0.1.0');
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
INSERT INTO "trials" VALUES(1,1,0,'completed','{"a": "y", "b": true, "o": 1, "epochs": 1}',56.405,NULL,'{"origin": "initial", "level": 0, "suggest_seconds": 0.0006849869999996372}',1.79530478606119441985e+09,1.79530478606230330463e+09,0,1);
INSERT INTO "trials" VALUES(2,1,1,'completed','{"a": "z", "b": false, "o": 1, "epochs": 3}',90.238,NULL,'{"origin": "initial", "level": 1, "suggest_seconds": 0.0005738109999811059}',1.79530478606374382976e+09,1.79530478606439161302e+09,1,1);
INSERT INTO "trials" VALUES(3,1,2,'completed','{"a": "z", "b": false, "o": 2, "epochs": 9}',20.67,NULL,'{"origin": "initial", "level": 2, "suggest_seconds": 0.00047378100009609625}',1.79530478606554579727e+09,1.79530478606621861454e+09,2,1);
INSERT INTO "trials" VALUES(4,1,3,'completed','{"a": "y", "b": false, "o": 1, "epochs": 1}',50.532,NULL,'{"origin": "initial", "level": 0, "suggest_seconds": 0.0005155070000455453}',1.79530478606738281253e+09,1.79530478606795644764e+09,3,1);
INSERT INTO "trials" VALUES(5,1,4,'completed','{"a": "z", "b": true, "o": 2, "epochs": 1}',30.05,NULL,'{"origin": "initial", "level": 0, "suggest_seconds": 0.0004862540000658555}',1.79530478606908321373e+09,1.79530478606980586049e+09,4,1);
INSERT INTO "trials" VALUES(6,1,5,'completed','{"a": "z", "b": true, "o": 2, "epochs": 3}',30.264,NULL,'{"origin": "model", "level": 1, "suggest_seconds": 0.00041410599999380793}',1.79530478607090497014e+09,1.79530478607156515125e+09,5,1);
INSERT INTO "trials" VALUES(7,1,6,'failed','{"a": "z", "b": false, "o": 4, "epochs": 3}',NULL,'no memory','{"origin": "initial", "level": 1, "suggest_seconds": 0.0005522709999468134}',1.79530478607277083394e+09,1.79530478607335042956e+09,6,1);
INSERT INTO "trials" VALUES(8,1,7,'completed','{"a": "y", "b": true, "o": 3, "epochs": 1}',19.149,NULL,'{"origin": "initial", "level": 0, "suggest_seconds": 0.0005661029999828315}',1.79530478607451224326e+09,1.79530478607520031925e+09,7,1);
INSERT INTO "trials" VALUES(9,1,8,'completed','{"a": "y", "b": true, "o": 3, "epochs": 3}',9.701,NULL,'{"origin": "model", "level": 1, "suggest_seconds": 0.00040535400000862865}',1.79530478607617759697e+09,1.79530478607670736313e+09,8,1);
INSERT INTO "trials" VALUES(10,1,9,'completed','{"a": "x", "b": false, "o": 2, "epochs": 9}',37.668,NULL,'{"origin": "initial", "level": 2, "suggest_seconds": 0.0005672749999803273}',1.79530478607784390451e+09,1.79530478607851839067e+09,9,1);
INSERT INTO "trials" VALUES(11,1,10,'completed','{"a": "y", "b": true, "o": 4, "epochs": 1}',74.89,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 19, "log_posterior": -12.533219079624857, "largest_jitter": 0.0, "noise": 0.006760846536924537, "candidates": 2032, "steps": 1, "best_score": 1.749815383172317, "level": 0, "suggest_seconds": 0.05679064599996764}',1.79530478613622260092e+09,1.79530478613738965986e+09,10,1);
INSERT INTO "trials" VALUES(12,1,11,'completed','{"a": "y", "b": true, "o": 3, "epochs": 9}',42.072,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 16, "log_posterior": -15.581890189801829, "largest_jitter": 0.0, "noise": 0.006686895199240314, "candidates": 2032, "steps": 1, "best_score": 1.1596437343433124, "level": 2, "suggest_seconds": 0.0568456649999689}',1.79530478619517898557e+09,1.79530478619621515273e+09,11,1);
INSERT INTO "trials" VALUES(13,1,12,'running','{"a": "x", "b": true, "o": 2, "epochs": 3}',NULL,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 22, "log_posterior": -18.41465747525863, "largest_jitter": 0.0, "noise": 0.006941589847536246, "candidates": 2032, "steps": 1, "best_score": 0.8495928050014155, "level": 1, "suggest_seconds": 0.06671266299997569}',1.79530478626389288897e+09,NULL,NULL,0);
INSERT INTO "trials" VALUES(14,1,13,'completed','{"a": "z", "b": true, "o": 3, "epochs": 1}',31.491,NULL,'{"origin": "model", "fit": "mode", "likelihoods": 3, "log_posterior": -18.41465747525863, "largest_jitter": 0.0, "noise": 0.006941589847536246, "candidates": 2032, "steps": 1, "best_score": 0.8292555450709327, "level": 0, "suggest_seconds": 0.03877616499994474}',1.79530478630438518521e+09,1.79530478630557537075e+09,12,1);
COMMIT;
